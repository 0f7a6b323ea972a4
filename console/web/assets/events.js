// The event stream of one conversation or of all, and whether it is connected. The
// browser reconnects by itself after a broken connection; after an answer that
// it takes as final (a 503, say) this does, with growing pauses.

const types = [
	'message.accepted', 'turn.scheduled', 'turn.started', 'reply.delta', 'reply.discarded',
	'reply.committed', 'reply.sent', 'reply.failed', 'turn.failed',
	'conversation.paused', 'conversation.resumed', 'message.repeated', 'attempt.failed', 'part.sent', 'part.failed', 'part.unknown',
	'lease.lost', 'turn.requeued', 'reply.resent', 'reply.marked',
];
const longestPause = 8_000;
const remembered = 1_000;

/**
 * Watches. It calls
 *   connected()       each time the stream opens
 *   disconnected()    each time it breaks; it is being opened again
 *   event(event)      for each event, once
 * and returns a function that ends it.
 */
export function watch(url, { connected, disconnected, event }) {
	const seen = new Set();
	let source;
	let timer;
	let pause = 500;

	function open() {
		source = new EventSource(url);
		source.onopen = () => {
			pause = 500;
			connected();
		};
		source.onerror = () => {
			disconnected();
			if (source.readyState === EventSource.CLOSED) openLater();
		};
		for (const type of types) source.addEventListener(type, receive);
	}

	function openLater() {
		timer = setTimeout(open, pause);
		pause = Math.min(pause * 2, longestPause);
	}

	// A resumed stream may repeat what came shortly before it broke.
	function receive({ data, lastEventId }) {
		if (lastEventId && seen.has(lastEventId)) return;
		if (lastEventId) seen.add(lastEventId);
		if (seen.size > remembered) seen.delete(seen.values().next().value);
		event(JSON.parse(data));
	}

	open();
	return () => {
		clearTimeout(timer);
		source.close();
	};
}
