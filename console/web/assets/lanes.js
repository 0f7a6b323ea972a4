// What happened in a turn, from its steps (the events of the stream, or those
// of the stored timeline: their fields are the same): the things in each lane
// of the drawing, and the sentences that say why. Nothing here knows a document.

import { because, plural, seconds } from './words.js';

/** Reasons for which an attempt failed, rather than being overtaken. */
const faults = new Set(['outage', 'failure', 'rejected', 'refused']);

const identity = ({ type, at, turn, token, version, part, message_id, reply_id }) => JSON.stringify([type, at, turn, token, version, part, message_id, reply_id]);

/**
 * Joins steps of the stored timeline with events of the stream, in which some
 * of them may come again, into one list in the order in which they happened.
 */
export function join(stored, live) {
	const known = new Map();
	for (const step of [...stored, ...live]) {
		const key = step.type === 'reply.delta' ? `delta/${step.token}` : identity(step); // the first words are enough
		if (!known.has(key)) known.set(key, step);
	}
	return [...known.values()].sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
}

/** The steps of a stored turn, and how many before them are not kept. */
export const stepsOf = ({ turn, lost, steps }) => (lost && steps.length ? [{ type: 'steps.lost', at: steps[0].at, turn, lost }, ...steps] : steps);

/**
 * The turn that each step belongs to. What opens a turn is told under the
 * number of the turn before, in the same write as the window of its own; and
 * what a reply came too early for is of the next turn, once that has begun.
 */
export function turnOf(steps) {
	const covered = new Map(); // the newest version that the reply of a turn had seen
	let newest = 0;
	for (const { type, turn = 0, reply_id: reply, through } of steps) {
		if (type === 'reply.committed' && through) covered.set(turn, through);
		else if (type === 'reply.discarded' && reply) covered.delete(turn);
		newest = Math.max(newest, turn);
	}
	return steps.map((step, index) => {
		const turn = step.turn || 0;
		if (step.type !== 'message.accepted') return turn;
		const next = steps.slice(index + 1, index + 3).find(({ type, version }) => type === 'turn.scheduled' && version === step.version);
		return Math.max(next?.turn ?? 0, turn < newest && step.version > covered.get(turn) ? turn + 1 : turn);
	});
}

/** Reads steps, oldest first, into the lanes of one drawing. */
export function read(steps) {
	const story = new Story();
	const turns = turnOf(steps);
	steps.forEach((step, index) => story.take(step, turns[index]));
	return story;
}

export class Story {
	constructor() {
		this.inputs = []; // { kind: message | edit | delete | repeat, version }
		this.windows = []; // { moves: [{ at, due }], due, capped, kind: quiet | wait }
		this.leases = []; // { token, holder, lost }
		this.attempts = []; // { token, number, through, newest, first, result, reason }
		this.commits = []; // { passed, through, version, reason }
		this.sends = []; // { part, parts, try, outcome: sent | failed | unknown | withdrawn | undefined }
		this.marks = []; // what people did, and turns that failed
		this.rows = []; // { step, at, tone, text, item }: each step as a sentence
		this.numbers = new Map(); // of messages, by id
		this.lost = 0; // steps before the first that are not kept
	}

	/** All that is drawn, in order of time. */
	items() {
		return lanes.flatMap((lane) => this[`${lane}s`]).sort((a, b) => a.at - b.at || lanes.indexOf(a.lane) - lanes.indexOf(b.lane));
	}

	/** When things went on; open ones last until now. */
	spans(now) {
		return this.items().flatMap((item) => (item.lane === 'window' ? busyParts(item, now) : [[item.at, item.end ?? (isSpan(item) ? Math.max(now, item.at) : item.at)]]));
	}

	/** For so many milliseconds nothing but the clock will move. */
	quietFor(now) {
		return Math.max(0, Math.min(...this.open().map(({ due, at }) => (due ?? at) - now)));
	}

	/** What is under way. */
	open() {
		return [this.windows, this.leases, this.attempts, this.sends].flat().filter(({ end }) => !end);
	}

	busy() {
		return this.open().length > 0;
	}

	take(step, turn) {
		const at = Date.parse(step.at);
		const told = takers[step.type]?.call(this, step, at, turn);
		this.firstByte(step);
		if (told) this.rows.push({ step, at, ...told });
	}

	// A first byte is not written when it comes, but with the next write.
	firstByte({ first_byte_at: first, token }) {
		if (!first) return;
		const attempt = this.attempts.findLast((one) => one.token === token);
		if (!attempt || attempt.first) return;
		attempt.first = Date.parse(first);
		attempt.text = firstWords(attempt);
	}

	add(lane, at, turn, fields) {
		const list = this[`${lane}s`];
		const item = { key: `${lane}/${turn}/${at}/${list.length}`, lane, at, turn, ...fields };
		list.push(item);
		return item;
	}

	mark(at, turn, tone, text) {
		return { tone, text, item: this.add('mark', at, turn, { end: at, tone, text }) };
	}

	openWindow() {
		return open(this.windows);
	}

	closeWindow(at) {
		const window = this.openWindow();
		if (window) window.end = Math.min(at, window.due);
	}

	/** Ends the lease; a lost one ends in a cut. */
	endLease(at, token, lost = false) {
		const lease = open(this.leases, token);
		if (lease) Object.assign(lease, { end: at, lost });
		return lease;
	}

	running(token) {
		return open(this.attempts, token);
	}

	endAttempt({ token, reason, version }, at, result) {
		const attempt = this.running(token) ?? this.running();
		if (attempt) Object.assign(attempt, { end: at, result, reason, newest: version || attempt.newest });
		return attempt;
	}

	openSend() {
		return open(this.sends);
	}

	/** A try to send the next part. */
	startSend(at, turn, { reply_id: reply, part = 1, parts = 1 }) {
		const tries = this.sends.filter((one) => one.reply === reply && one.part === part).length;
		return this.add('send', at, turn, { reply, part, parts, try: tries + 1 });
	}

	// A send that is no attempt's has a lease of its own.
	leaseOfSend({ token, node }, send) {
		if (!token || this.leases.some((one) => one.token === token)) return;
		this.add('lease', send.at, send.turn, { token, holder: node });
	}

	endSend(step, at, turn, outcome) {
		const part = step.part || this.openSend()?.part || 1;
		const send = this.openSend() ?? this.startSend(at, turn, { ...step, part });
		this.leaseOfSend(step, send);
		return Object.assign(send, { end: at, outcome, part: Math.min(part, step.parts || part), parts: step.parts || send.parts });
	}
}

/** The latest that has not ended, of that token if given. */
const open = (list, token) => list.findLast((one) => !one.end && (!token || one.token === token));

/** The lanes, from top to bottom. */
export const lanes = ['input', 'window', 'lease', 'attempt', 'commit', 'send', 'mark'];

const isSpan = ({ lane }) => lane === 'lease' || lane === 'attempt' || lane === 'send';

/** When a window ended, or will. */
export const windowEnd = (window, now) => window.end ?? Math.max(window.due, now);

const longestWait = 30_000; // of a window that is drawn to scale

/** When something happened to a window, without long waits. */
function busyParts(window, now) {
	const end = windowEnd(window, now);
	const times = [window.at, ...window.moves.map(({ at }) => at), Math.min(now, end), end].sort((a, b) => a - b);
	return times.map((time, index) => [index && time - times[index - 1] <= longestWait ? times[index - 1] : time, time]);
}

/** What a person did: a mark. */
const told = (text) => function mark(step, at, turn) {
	return this.mark(at, turn, 'quiet', text);
};

/** What each type of step changes, and its sentence. */
const takers = {
	'steps.lost'({ lost }, at, turn) {
		this.lost += lost;
		return this.mark(at, turn, 'quiet', `${plural(lost, 'earlier step')} of this turn are not kept: there were too many.`);
	},

	'message.accepted'(step, at, turn) {
		if (step.reason === 'context') return null; // no turn has it
		const kind = { edited: 'edit', deleted: 'delete' }[step.reason] ?? 'message';
		if (kind === 'message') this.numbers.set(step.message_id, step.version);
		const running = this.running();
		if (running) running.newest = step.version;
		const number = this.numbers.get(step.message_id) ?? step.version;
		const item = this.add('input', at, turn, { end: at, kind, version: step.version, number });
		const what = { message: `Message accepted as input ${step.version}`, edit: `Message ${number} edited: input ${step.version}`, delete: `Message ${number} deleted: input ${step.version}` }[kind];
		item.text = `${what}${running ? `, while attempt ${running.number} ran, which had seen only up to ${running.through}` : ''}.`;
		return { tone: 'input', text: item.text, item };
	},

	'message.repeated'(step, at, turn) {
		const number = this.numbers.get(step.message_id);
		const item = this.add('input', at, turn, { end: at, kind: 'repeat', version: number ?? '', number });
		item.text = `${number ? `Message ${number}` : 'A message that was accepted earlier'} was delivered again: its id is known, so nothing changed.`;
		return { tone: 'quiet', text: item.text, item };
	},

	'turn.scheduled'(step, at, turn) {
		const due = Date.parse(step.due_at);
		let item = this.openWindow();
		const cut = this.lost > 0 && !this.windows.length && !this.attempts.length; // its start is not kept
		const opened = !item && !cut;
		item ??= this.add('window', at, turn, { moves: [], kind: this.waits ? 'wait' : 'quiet', causes: this.waits, cut });
		this.waits = null;
		item.capped = step.reason === 'max_wait';
		item.due = due;
		item.moves.push({ at, due, version: step.version });
		const left = seconds(Math.max(0, due - at));
		const text = item.capped ? `The window has reached its hard cap: it ends in ${left}, whatever comes.`
			: step.reason ? `The next attempt waits ${left}: ${because(step.reason)}.`
				: opened ? `The window opens and ends in ${left}.`
					: due <= at && this.rows.at(-1)?.step.type !== 'message.accepted' ? 'A person ended the window: the next attempt starts at once.' : `The window now ends in ${left}.`;
		return { tone: 'window', text, item };
	},

	'turn.started'(step, at, turn) {
		if (!step.early) this.closeWindow(at);
		const gone = this.running();
		if (gone) Object.assign(gone, { end: at, result: 'lost', reason: 'worker_lost' });
		this.endLease(at, 0, true);
		this.add('lease', at, turn, { token: step.token, holder: step.node });
		const number = step.attempt || 1;
		const item = this.add('attempt', at, turn, { token: step.token, number, through: step.through || step.version, newest: step.version });
		const on = step.node ? ` on ${step.node}` : '';
		return { tone: 'attempt', text: `Attempt ${number} starts${step.early ? ' early' : ''}${on} under token ${step.token}: it sees everything up to ${item.through}.`, item };
	},

	'reply.delta'(step, at) {
		const item = this.running(step.token);
		if (!item || item.first) return null;
		item.first = at;
		return { tone: 'attempt', text: firstWords(item), item };
	},

	'reply.discarded'(step, at, turn) {
		if (step.reply_id) return withdrawn.call(this, step, at, turn);
		if (this.openWindow()?.due <= at) this.closeWindow(at); // likewise
		if (faults.has(step.reason)) return failedAttempt.call(this, step, at);
		const lost = step.reason === 'worker_lost';
		const item = this.endAttempt(step, at, lost ? 'lost' : 'discarded');
		const through = step.through || item?.through;
		if (item) item.through = through;
		this.endLease(at, step.token, lost);
		const stale = !step.reason || step.reason === 'superseded';
		const text = stale ? `Nothing was committed: the attempt had seen ${through}, but the newest input was ${step.version}.` : `Nothing was committed: ${because(step.reason)}.`;
		if (!lost) this.add('commit', at, turn, { end: at, passed: false, through, version: step.version, reason: step.reason, text });
		return { tone: 'discard', text: `Attempt ${item?.number ?? step.attempt ?? 1} ${lost ? 'lost' : 'discarded'}${after(item, at)}: ${stale ? `it saw ${through}, newest was ${step.version}` : because(step.reason)}.`, item };
	},

	'attempt.failed': failedAttempt,

	'lease.lost'(step, at) {
		const item = this.endLease(at, step.token, true);
		Object.assign(this.openSend() ?? {}, { end: at, outcome: 'unknown' });
		return { tone: 'discard', text: `The lease with token ${step.token}${step.node ? ` of ${step.node}` : ''} ran out: its holder was lost, and changes nothing any more.`, item };
	},

	'reply.committed'(step, at, turn) {
		const attempt = step.reason === 'human' || step.reason === 'fallback' ? null : this.endAttempt(step, at, 'committed');
		if (attempt) this.closeWindow(at); // it was started early
		const none = !step.parts && !step.text;
		const item = this.add('commit', at, turn, { end: at, passed: true, through: step.through, version: step.version, reason: step.reason });
		if (none) {
			if (attempt) this.endLease(at);
			return { tone: 'reply', text: 'The bot chose not to reply: what it saw is closed.', item };
		}
		this.startSend(at, turn, { ...step, part: 1 });
		const text = {
			human: 'A person’s reply needs no check: it was committed, and closes what waits.',
			fallback: 'The fallback text was committed, because the turn failed.',
		}[step.reason] ?? `The reply was committed${after(attempt, at)}. Its check passed: it had seen ${step.through}, and the newest was ${step.version}${step.version > step.through ? ', which gets the next reply' : ''}.`;
		return { tone: 'reply', text, item };
	},

	'part.sent'(step, at, turn) {
		const item = this.endSend(step, at, turn, 'sent');
		if (item.part < item.parts) this.startSend(at, turn, { ...step, reply_id: item.reply, part: item.part + 1, parts: item.parts });
		return { tone: 'reply', text: `${capital(partWords(item))} was delivered${after(item, at)}.`, item };
	},

	'part.failed'(step, at, turn) {
		return badSend.call(this, step, at, turn, 'failed', (item) => `${capital(partWords(item))} was refused${after(item, at)}: ${why(step.reason)}.`);
	},

	'part.unknown'(step, at, turn) {
		const reason = step.reason === 'unknown_outcome' ? '' : because(step.reason).replace(/^nobody knows whether it arrived: /, '');
		return badSend.call(this, step, at, turn, 'unknown', (item) => `Nobody knows whether ${partWords(item)} arrived: ${reason || 'no answer came'}.`);
	},

	'reply.sent'(step, at, turn) {
		if (step.parts && (step.part ?? step.parts) < step.parts) return takers['part.sent'].call(this, step, at, turn);
		const item = this.endSend(step, at, turn, 'sent');
		this.endLease(at);
		return { tone: 'reply', text: `${capital(partWords(item))} was delivered${after(item, at)}${step.through ? `: everything up to ${step.through} is answered` : ''}.`, item };
	},

	'reply.failed'(step, at, turn) {
		const unknown = step.reason === 'unknown_outcome' || step.reason === 'worker_lost';
		const last = this.sends.at(-1);
		// The try that ended it may have been told already.
		const told = last?.end && (last.outcome === 'unknown' || last.outcome === 'failed');
		const item = told ? last : this.endSend(step, at, turn, unknown ? 'unknown' : 'failed');
		this.endLease(at);
		return { tone: 'discard', text: unknown ? `${told ? 'The reply' : 'Nobody knows whether the reply arrived, and it'} is not sent again by itself: a person decides.` : `The reply could not be delivered: ${why(step.reason)}.`, item };
	},

	'turn.failed'(step, at, turn) {
		this.endAttempt(step, at, 'failed');
		this.endLease(at);
		this.closeWindow(at);
		return this.mark(at, turn, 'discard', `Turn ${step.turn} failed: ${why(step.reason)}. What waits is kept.`);
	},

	'turn.ended'(step, at, turn) {
		const window = this.openWindow();
		if (window?.turn === turn) window.end = at;
		if (!/sent|no_reply|failed|undel/.test(step.reason)) return this.mark(at, turn, 'quiet', `Turn ${step.turn} ended: ${step.reason}.`);
	},

	'conversation.paused'(step, at, turn) {
		this.closeWindow(at);
		return this.mark(at, turn, 'quiet', `Paused${step.reason ? `: ${because(step.reason)}` : ''}. Messages are kept, nothing is sent.`);
	},
	'conversation.resumed': told('Resumed.'),
	'conversation.moved': told('Moved: it has another key.'),
	'conversation.reset': told('Begun afresh.'),
	'turn.requeued': told('Requeued by a person, with all that waits.'),
	'reply.marked': told('A person marked the reply as sent.'),
	'reply.resent'(step, at, turn) {
		const said = this.mark(at, turn, 'quiet', 'A person had the reply sent again, under the same id.');
		this.startSend(at, turn, step);
		return said;
	},
};

/** The types of events: those above, and those that are no step of any turn. */
export const types = [...Object.keys(takers), 'message.recorded', 'message.erased', 'conversation.deleted'];

/** A try that failed; the next one follows. */
function badSend(step, at, turn, outcome, words) {
	const item = this.endSend(step, at, turn, outcome);
	this.endLease(at);
	const { due_at: due } = step;
	const text = words(item) + (due ? nextTry(due, at) : '');
	if (due) this.startSend(Date.parse(due), turn, { reply_id: item.reply, part: item.part, parts: item.parts });
	return { tone: 'discard', text, item };
}

const nextTry = (due, at) => ` The next try is in ${seconds(Math.max(0, Date.parse(due) - at))}.`;

const firstWords = ({ number, first, at }) => `Attempt ${number} writes its first words after ${seconds(first - at)}.`;

const capital = (text) => text[0].toUpperCase() + text.slice(1);

const why = (reason) => because(reason) || 'no reason was given';

const after = (item, at) => (item && at > item.at ? ` after ${seconds(at - item.at)}` : '');

function failedAttempt(step, at) {
	const item = this.running(step.token) ? this.endAttempt(step, at, 'failed') : this.attempts.findLast((one) => one.token === step.token);
	this.endLease(at, step.token);
	this.waits = step.reason;
	const number = item?.number ?? step.attempt ?? 1;
	const told = this.rows.at(-1)?.step.type === 'reply.discarded'; // that it ended, in the same write
	const next = step.due_at ? nextTry(step.due_at, at) : told ? ' It is not tried again by itself.' : '';
	return { tone: 'discard', text: `${told ? `This was the failure of attempt ${number}.` : `Attempt ${number} failed: ${why(step.reason)}.`}${next}`, item };
}

/** A reply that reached nobody was taken back. */
function withdrawn(step, at, turn) {
	const item = this.endSend(step, at, turn, 'withdrawn');
	if (item.at > at) item.at = at; // a try that was not begun
	this.endLease(at);
	return { tone: 'discard', text: `The reply was withdrawn before anybody saw it: ${because(step.reason)}. What it answered is answered afresh.`, item };
}

const partWords = ({ part, parts, try: tries }) => (parts > 1 ? `part ${part} of ${parts}` : 'the reply') + (tries > 1 ? `, try ${tries},` : '');

/** Why a thing is as it is: what is told of it, for what is selected. */
export function explain(item, story, now) {
	if (explainers[item.lane]) return explainers[item.lane](item, now);
	const told = story.rows.filter((row) => row.item === item).map(({ text }) => text);
	if (item.text && !told.includes(item.text)) told.splice(1, 0, item.text);
	if (item.lane === 'input') told.push(inWindow(item, story));
	if (item.lane === 'attempt' && !item.end) told.push(`It has been running for ${seconds(now - item.at)}${item.newest > item.through ? `, and newer input (${item.newest}) came meanwhile` : ''}.`);
	if (item.lane === 'send' && !item.end) told.push(item.at > now ? `It is tried again in ${seconds(item.at - now)}.` : `${capital(partWords(item))} is on its way.`);
	return told.join(' ');
}

const explainers = {
	window(item, now) {
		const length = seconds(windowEnd(item, now) - item.at);
		const moved = item.moves.length > 1 ? `; newer input moved its end ${plural(item.moves.length - 1, 'time')}` : '';
		if (item.kind === 'wait') return `The next attempt waits ${length}: ${because(item.causes)}${moved}.`;
		return `The quiet time ${item.end ? 'lasted' : 'will last'}${item.cut ? ' at least' : ''} ${length}${moved}${item.capped ? ', until the hard cap, which no input can move' : ''}.`;
	},

	lease({ token, holder, at, end, lost }, now) {
		const length = seconds((end ?? now) - at);
		const start = `${holder || 'A worker'} held the conversation under token ${token}`;
		if (lost) return `${start} and was lost: after ${length} its lease was over, and whatever it still does changes nothing.`;
		return `${start} for ${length}${end ? ', and gave it back with its last write' : ' so far'}.`;
	},
};

/** What the same write did to the window. */
function inWindow(item, story) {
	const row = story.rows.findIndex((one) => one.item === item);
	const next = row >= 0 && story.rows[row + 1];
	return next?.step.type === 'turn.scheduled' && next.step.version === story.rows[row].step.version ? next.text : '';
}

/** What a person sees at a glance, for the drawing's label. */
export function summary({ inputs, attempts, sends, lost }) {
	if (!inputs.length && !attempts.length && !sends.length) return 'nothing yet';
	const repeats = inputs.filter(({ kind }) => kind === 'repeat').length;
	const bad = attempts.filter(({ result }) => result === 'discarded').length;
	const sent = sends.filter(({ outcome, part, parts }) => outcome === 'sent' && part === parts).length;
	const unknown = sends.filter(({ outcome }) => outcome === 'unknown').length;
	const versions = inputs.filter(({ kind }) => kind !== 'repeat').map(({ version }) => version);
	return [
		lost && versions.length ? `inputs ${versions[0]} to ${versions.at(-1)}` : plural(versions.length, 'input'), lost && `${lost} earlier steps not kept`, repeats && plural(repeats, 'repeat'), plural(attempts.length, 'attempt'),
		bad && `${bad} discarded`, sent === 1 ? '1 reply sent' : `${sent} replies sent`, unknown && `${unknown} unknown`,
	].filter(Boolean).join(', ');
}
