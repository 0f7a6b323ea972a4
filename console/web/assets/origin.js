// The design that failed, played again in the page: what the same messages get
// from a lock that is given back before the model runs. Its rules:
//
//   1. each message restarts the quiet time;
//   2. the lock is held only while the waiting messages are read, some
//      milliseconds, and not while the model writes; so a message that comes
//      meanwhile starts a second answer to the same messages;
//   3. the timer is a field of the stored conversation, and the end of each turn
//      writes the whole of it back as it was read: a timer that was set
//      meanwhile is gone, and its message with it.
//
// Nothing of this runs on the server. No document here.

export class Origin {
	/** Settings: debounce and delay in milliseconds, read anew each time. Clock: now(), after(milliseconds, what) → cancel. */
	constructor(settings, clock, changed = () => {}) {
		Object.assign(this, { settings, clock, changed });
		this.messages = []; // { id, text, answers }: how often it was answered
		this.runs = []; // { saw, at, ended }: calls of the model
		this.replies = []; // { covers, text, stale, again }
		this.cancel = null; // the one stored timer
	}

	receive(id, text) {
		if (this.messages.some((message) => message.id === id)) return; // it knew repeats, too
		this.messages.push({ id, text, answers: 0, done: false });
		this.cancel?.();
		this.cancel = this.clock.after(this.settings().debounce, () => this.due());
		this.changed();
	}

	due() {
		this.cancel = null;
		// The lock is taken and given back within these lines.
		const saw = this.messages.filter((message) => !message.done);
		const run = { saw, at: this.clock.now(), ended: false };
		this.runs.push(run);
		this.clock.after(this.settings().delay, () => this.end(run));
		this.changed();
	}

	end(run) {
		run.ended = true;
		const again = run.saw.filter(({ answers }) => answers > 0).length;
		const stale = this.messages.some((message) => !message.done && !run.saw.includes(message));
		for (const message of run.saw) {
			message.answers += 1;
			message.done = true;
		}
		this.replies.push({ covers: run.saw, text: answer(run.saw), again, stale });
		// Saving the conversation as it was read: without the timer that was set since.
		this.cancel?.();
		this.cancel = null;
		this.changed();
	}

	/** Messages that nothing will answer, unless somebody writes again. */
	lost() {
		if (this.cancel || this.runs.some(({ ended }) => !ended)) return [];
		return this.messages.filter(({ answers }) => answers === 0);
	}

	count() {
		return {
			replies: this.replies.length, calls: this.runs.length, lost: this.lost().length,
			twice: this.messages.reduce((sum, { answers }) => sum + Math.max(0, answers - 1), 0), stale: this.replies.filter(({ stale }) => stale).length,
		};
	}
}

/** As the echo that answers in the demo. */
const answer = (messages) => `You said ${messages.length} thing${messages.length === 1 ? '' : 's'}: ${messages.map(({ text }) => `"${text.trim()}"`).join(', ')}.`;

/** The same numbers of the conversation beside it, from what it shows. */
export function ours({ entries, steps, phase }) {
	const messages = entries.filter(({ type, state }) => type === 'message' && state !== 'deleted');
	const replies = entries.filter(({ type, state }) => type === 'reply' && state === 'sent');
	const answers = new Map();
	for (const { covers } of replies) for (const id of covers) answers.set(id, (answers.get(id) ?? 0) + 1);
	return {
		replies: replies.length, calls: steps.filter(({ type }) => type === 'turn.started').length,
		lost: phase === 'idle' ? messages.filter(({ id, state }) => state === 'waiting' && !answers.has(id)).length : 0,
		twice: [...answers.values()].reduce((sum, times) => sum + times - 1, 0), stale: replies.filter(({ late }) => late).length,
	};
}
