// A conversation in which this page writes: what it also knows of its own
// messages, from the answers to its calls.

import { Conversation } from './conversation.js';

const kept = 900; // steps

/** Reasons of discards that newer input or a person caused, not a fault. */
const overtaken = new Set(['superseded', 'paused', 'deleted', 'closed_by_human', 'stopped']);

export class OwnConversation extends Conversation {
	constructor(changed) {
		super(changed);
		this.steps = []; // events, and the repeats that receipts told of
		this.repeats = 0;
		this.discards = 0;
	}

	apply(event) {
		this.keep(event);
		if (event.type === 'reply.discarded' && overtaken.has(event.reason)) this.discards += 1;
		super.apply(event);
	}

	keep(step) {
		this.steps.push(step);
		if (this.steps.length > kept) this.steps.shift();
	}

	count() {
		const of = (test) => this.entries.filter(test).length;
		return {
			messages: of(({ type, version }) => type === 'message' && version > 0), repeats: this.repeats,
			discards: this.discards, replies: of(({ type, state }) => type === 'reply' && state === 'sent'),
		};
	}

	/** The latest own message that can be delivered again. */
	lastDelivered() {
		return this.entries.findLast((entry) => entry.type === 'message' && entry.version > 0 && entry.state !== 'deleted');
	}

	/** A message that is on its way to the server. */
	sending(id, text) {
		this.put({ type: 'message', id, text, state: 'sending', version: 0, number: 0, edits: [], repeats: 0, note: '' });
		this.changed();
	}

	/** The answer to sending, editing or deleting a message. */
	receipt(id, receipt) {
		const message = this.message(id);
		if (receipt.duplicate) {
			message.repeats += 1;
			this.repeats += 1;
			this.keep({ type: 'message.repeated', at: new Date(this.now()).toISOString(), message_id: id });
		}
		if (message.state === 'sending' || message.state === 'unsent') message.state = 'waiting';
		message.note = receipt.outcome === 'ignored' ? refusal(receipt.reason) : '';
		this.changed();
	}

	/** A call about a message that did not work. */
	refused(id, trouble) {
		const message = this.message(id);
		const never = message.version === 0 && message.state === 'sending';
		if (never) message.state = trouble.again ? 'unsent' : 'refused';
		message.note = trouble.message + (never && trouble.again ? ' Sending again is safe: the id stays the same.' : '');
		this.changed();
	}

	/** Before a message is tried again. */
	retrying(id) {
		Object.assign(this.message(id), { state: 'sending', note: '' });
		this.changed();
	}
}

function refusal(reason) {
	return `Nothing was changed: ${String(reason ?? 'no reason was given').replaceAll('_', ' ')}.`;
}
