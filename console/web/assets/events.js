// The event stream of one conversation or of all, and whether it is connected. The
// browser reconnects by itself after a broken connection; after an answer that
// it takes as final (a 503, say) this does, with growing pauses.

import { types } from './lanes.js';

const longestPause = 8_000;
const remembered = 1_000;

/**
 * Calls connected() each time the stream opens, disconnected(why) each time it
 * ends ('refused' by the server, or 'hidden': a browser has few connections for a
 * server, and a tab that nobody sees holds none), and event(event) once for each.
 * Returns the function that ends it.
 */
export function watch(url, { connected, disconnected, event }) {
	const known = new Set();
	let source;
	let timer;
	let pause = 500;

	function open() {
		if (document.hidden) return;
		source = new EventSource(url);
		source.onopen = () => {
			pause = 500;
			connected();
		};
		source.onerror = () => {
			const refused = source.readyState === EventSource.CLOSED;
			disconnected(refused && 'refused');
			if (refused) openLater();
		};
		source.addEventListener('events.lost', () => connected()); // as after a break: what is stored has them
		for (const type of types) source.addEventListener(type, receive);
	}

	function openLater() {
		timer = setTimeout(open, pause);
		pause = Math.min(pause * 2, longestPause);
	}

	// A resumed stream may repeat what came shortly before it broke.
	function receive({ data, lastEventId }) {
		if (lastEventId && known.has(lastEventId)) return;
		if (lastEventId) known.add(lastEventId);
		if (known.size > remembered) known.delete(known.values().next().value);
		event(JSON.parse(data));
	}

	function seen() {
		end();
		if (document.hidden) disconnected('hidden');
		else open();
	}

	function end() {
		clearTimeout(timer);
		source?.close();
	}

	document.addEventListener('visibilitychange', seen);
	open();
	return () => {
		document.removeEventListener('visibilitychange', seen);
		end();
	};
}
