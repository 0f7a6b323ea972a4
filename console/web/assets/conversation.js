// What the page knows of the conversation: the one place that events and the
// transcript change. The chat only reads it.
//
// Everything may arrive twice and in either order, so each change may happen again.

import { serverNow } from './api.js';
import { because } from './words.js';

const settled = new Set(['sent', 'undelivered', 'unknown', 'withdrawn', 'no_reply', 'partial']);

const phases = {
	'turn.scheduled': 'collecting', 'turn.started': 'generating', 'reply.discarded': 'idle', 'reply.committed': 'sending', 'reply.sent': 'idle',
	'reply.failed': 'idle', 'turn.failed': 'failed', 'turn.ended': 'idle', 'conversation.paused': 'paused', 'conversation.resumed': 'idle',
};

/** The phase to which an event leads. A pause is told before what it ends. */
export function phaseAfter(phase, { type, part, parts, text, reason }) {
	if (type === 'message.accepted' && reason === 'context') return phase; // it is no input
	const ends = type === 'turn.ended';
	const stays = phase === 'paused' ? ends || type === 'turn.scheduled' || type === 'reply.discarded' : phase === 'failed' ? ends : type === 'reply.sent' && part < parts;
	return stays ? phase : isNone({ type, parts, text }) ? 'idle' : phases[type] ?? phase;
}

/** Whether the bot chose not to reply. */
const isNone = ({ type, parts, text }) => type === 'reply.committed' && !parts && !text;

export class Conversation {
	constructor(changed) {
		this.changed = changed;
		this.entries = []; // messages, replies and notes, as the chat shows them
		this.known = new Map(); // the same by type and id: people choose the ids of messages
		this.draft = null; // the reply that is being written
		this.phase = 'idle';
		this.skew = Infinity; // how far this clock is ahead of the server's
	}

	/** The server's time now in milliseconds, as far as events tell. */
	now() {
		return Number.isFinite(this.skew) ? Date.now() - this.skew : serverNow();
	}

	merge(transcript) {
		for (const entry of transcript) {
			if (entry.kind === 'message') this.mergeMessage(entry);
			else if (entry.kind === 'name') this.put({ type: 'note', id: `name/${entry.seq}`, text: `Also reached as ${entry.text}.` });
			else if (entry.kind === 'reset') this['conversation.reset'](entry);
			else this.mergeReply(entry);
		}
		this.changed();
	}

	/** Takes over entries from before those that are known. */
	mergeEarlier(transcript) {
		const later = this.entries;
		this.entries = [];
		this.merge(transcript);
		this.entries.push(...later);
	}

	/** Whether a part of a transcript goes on from what is known. */
	joins(transcript) {
		return transcript.some(({ kind, id }) => this.known.has(`${kind}/${id}`));
	}

	/** Where the transcript is known from. */
	first() {
		return this.entries.find(({ seq }) => seq)?.seq;
	}

	/** Forgets all but the last so many. */
	keep(count) {
		for (const { key } of this.entries.splice(0, Math.max(0, this.entries.length - count))) this.known.delete(key);
	}

	mergeMessage({ seq, id, text, version, status, sender, at, attachments, edited_at: edited }) {
		const message = this.message(id) ?? this.put({ type: 'message', id, number: version, edits: [], repeats: 0, note: '' });
		message.number ||= version;
		message.version = Math.max(message.version ?? 0, version);
		Object.assign(message, { seq, text, sender, at, attachments, edited, state: status === 'pending' ? 'waiting' : status });
	}

	mergeReply({ seq, id, text, covers, status, receipt, late_input: late, author, turn, at }) {
		const reply = this.put({ type: 'reply', id });
		Object.assign(reply, { seq, text, covers: covers ?? [], receipt, late, author, turn, at, state: status === 'committed' ? 'sending' : status });
		if (settled.has(reply.state)) this.cover(reply);
	}

	/** Takes over the state after the stream was away; null where nothing was ever received. */
	settle(state) {
		this.phase = state?.phase ?? 'idle';
		if (this.phase !== 'generating') this.draft = null;
		this.changed();
	}

	/** Takes an event of the stream. */
	apply(event) {
		this.skew = Math.min(this.skew, Date.now() - Date.parse(event.at));
		this.phase = phaseAfter(this.phase, event);
		this[event.type]?.(event);
		this.changed();
	}

	// One method for each type of event that changes more.

	'message.accepted'(event) {
		let message = this.message(event.message_id);
		if (message && event.version <= message.version) return; // known already
		const kind = { edited: 'edit', deleted: 'delete' }[event.reason] ?? 'message';
		if (!message && kind !== 'message') return; // it is not shown
		message ??= this.put({ type: 'message', seq: event.seq, id: event.message_id, edits: [], repeats: 0, at: event.at });
		if (event.reason === 'context') return Object.assign(message, { version: 0, text: event.text ?? '', state: 'context', note: '' });
		message.number ||= event.version;
		if (kind !== 'message') message.edits.push(event.version);
		Object.assign(message, { version: event.version, text: event.text ?? '', state: kind === 'delete' ? 'deleted' : 'waiting', note: '' });
		if (this.phase === 'collecting' && !this.entries.some((entry) => entry.state === 'waiting')) this.phase = 'idle';
	}

	'message.recorded'({ message_id: id, text }) {
		const message = this.message(id);
		if (message) Object.assign(message, { text: text ?? message.text, edited: true, note: '' });
	}

	'message.erased'({ message_id: id }) {
		const message = this.message(id);
		if (message) Object.assign(message, { text: '', state: 'deleted', note: '' });
	}

	'turn.started'({ token }) {
		this.draft = { token, text: '' };
	}

	'reply.delta'({ text = '' }) {
		if (this.draft) this.draft.text += text;
	}

	'reply.discarded'({ token, through, version, reason, reply_id: id }) {
		this.endDraft(token);
		if (id) this.put({ type: 'reply', id, text: '', covers: [] }).state = 'withdrawn';
		const why = reason && reason !== 'superseded' ? because(reason) : `it saw ${through}, the newest was ${version}`;
		this.put({ type: 'note', id: `discard/${token}`, text: `A draft was thrown away: ${why}.` });
	}

	'reply.committed'(event) {
		this.endDraft(event.token);
		this.reply(event, isNone(event) ? 'no_reply' : 'sending');
	}

	'reply.sent'(event) {
		this.endDraft(event.token);
		const last = !(event.part < event.parts);
		const reply = this.reply(event, last ? 'sent' : 'sending');
		if (last) this.cover(reply);
	}

	'reply.failed'(event) {
		this.reply(event, event.reason === 'unknown_outcome' ? 'unknown' : 'undelivered');
	}

	'conversation.reset'({ seq }) {
		this.put({ type: 'note', id: `reset/${seq}`, text: 'A fresh start: the bot forgets all above.' });
	}

	'turn.failed'({ token, turn, id, reason }) {
		this.endDraft(token);
		this.put({ type: 'note', tone: 'bad', id: `failed/${turn}/${id}`, text: `This turn failed: ${reason || 'no reason was given'}. What waits is kept.` });
	}

	// The parts that those are made of.

	put(entry) {
		entry.key = `${entry.type}/${entry.id}`;
		if (!this.known.has(entry.key)) {
			this.known.set(entry.key, entry);
			this.entries.push(entry);
		}
		return this.known.get(entry.key);
	}

	message(id) {
		return this.known.get(`message/${id}`);
	}

	reply({ seq, reply_id: id, text, covers, late_input: late, turn, at, reason }, state) {
		const reply = this.put({ type: 'reply', seq, id, text: '', covers: [], turn, at, author: reason });
		if (text) reply.text = text;
		if (covers?.length) reply.covers = covers;
		reply.late ||= late;
		reply.state = state;
		return reply;
	}

	cover(reply) {
		for (const id of reply.covers) {
			const message = this.message(id);
			if (message && message.state !== 'deleted') message.state = 'answered';
		}
	}

	endDraft(token) {
		if (this.draft?.token === token) this.draft = null;
	}
}
