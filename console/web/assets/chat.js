// The messages and replies. Each entry has one view, which is made once and
// then only changed, so that focus survives.

import { element, follow, setText } from './dom.js';
import { numbers, plural, timeOf } from './words.js';

const states = {
	sending: 'sending…', waiting: 'waiting for the reply', answered: 'answered', deleted: 'deleted',
	unsent: 'not sent', refused: 'not accepted', closed: 'closed without a reply', failed: 'set aside', context: 'context: known, and not answered',
};

const replyStates = {
	sending: 'on its way', sent: 'sent', undelivered: 'not delivered', unknown: 'nobody knows whether it arrived',
	withdrawn: 'withdrawn: newer input came first', no_reply: 'chose not to reply', partial: 'delivered in part',
};

export class Chat {
	/** Message makes the view of a message; turns gives the address of a turn, where replies lead to theirs. */
	constructor({ list, scroller, empty }, { message = (id) => new MessageView(id), turns } = {}) {
		Object.assign(this, { list, scroller, empty, message, turns });
		this.toEnd = follow(scroller, 'y');
		this.views = new Map();
		this.draft = new Draft();
	}

	clear() {
		this.views.clear();
		this.list.replaceChildren();
	}

	render(conversation, force) {
		this.empty.hidden = conversation.entries.length > 0;
		for (const [key, { node }] of this.views) {
			if (conversation.known.has(key)) continue;
			node.remove();
			this.views.delete(key);
		}
		conversation.entries.forEach((entry, index) => {
			const view = this.view(entry);
			view.render(entry, conversation);
			if (this.list.children[index] !== view.node) this.list.insertBefore(view.node, this.list.children[index] ?? null);
		});
		this.draft.render(conversation.draft, this.list);
		return this.toEnd(force);
	}

	view(entry) {
		if (!this.views.has(entry.key)) this.views.set(entry.key, this.make(entry));
		return this.views.get(entry.key);
	}

	make(entry) {
		if (entry.type === 'message') return this.message(entry.id);
		if (entry.type === 'reply') return new ReplyView((ids, on) => this.highlight(ids, on), this.turns);
		return new NoteView();
	}

	highlight(ids, on) {
		for (const id of ids) this.views.get(`message/${id}`)?.node.classList.toggle('covered', on);
	}
}

export class MessageView {
	constructor(id) {
		this.id = id;
		this.text = element('p.text', { dir: 'auto' });
		this.number = element('span.number');
		this.state = element('span.state');
		this.who = element('span.who', { dir: 'auto' });
		this.meta = element('p.meta', this.number, this.who, this.state);
		this.bubble = element('div.bubble', this.text);
		this.below = element('div.below', this.meta);
		this.node = element('li.entry.mine', this.bubble, this.below);
	}

	render(message) {
		this.node.dataset.state = message.state;
		this.node.dataset.id = message.id;
		setText(this.text, message.state === 'deleted' ? 'This message was deleted' : message.text + things(message.attachments));
		setText(this.number, message.number ? `#${message.number}` : '');
		setText(this.who, [message.sender?.name || message.sender?.id, message.at && timeOf(message.at, 0)].filter(Boolean).join(' · '));
		setText(this.state, stateWords(message));
	}
}

const things = (attachments) => (attachments ?? []).map(({ kind, pending }) => ` [${kind || 'attachment'}${pending ? ', being processed' : ''}]`).join('');

function stateWords({ state, edits, edited }) {
	const words = states[state] ?? state;
	if (state === 'deleted' || !edits.length && !edited) return words;
	return `edited${edits.length ? ` as #${edits.at(-1)}` : ''} · ${words}`;
}

class ReplyView {
	constructor(highlight, turns) {
		this.turns = turns;
		this.turn = element('a.turn');
		this.text = element('p.text', { dir: 'auto' });
		this.covers = element('button', { type: 'button', class: 'covers', 'aria-pressed': 'false' });
		this.state = element('span.state');
		this.node = element('li.entry.reply',
			element('div.bubble', this.text),
			element('div.below', this.covers, element('p.meta', this.state, this.turn)));
		this.ids = [];
		this.show = (on) => highlight(this.ids, on || this.pinned());
		for (const [node, begin, end] of [[this.node, 'pointerenter', 'pointerleave'], [this.covers, 'focus', 'blur']]) {
			node.addEventListener(begin, () => this.show(true));
			node.addEventListener(end, () => this.show(false));
		}
		this.covers.addEventListener('click', () => this.pin());
	}

	details({ turn, at, author }) {
		this.turn.hidden = !turn;
		if (turn) this.turn.setAttribute('href', this.turns(turn));
		setText(this.turn, [`turn ${turn}`, authors[author], at && timeOf(at, 0)].filter(Boolean).join(' · '));
	}

	pinned() {
		return this.covers.getAttribute('aria-pressed') === 'true';
	}

	pin() {
		this.covers.setAttribute('aria-pressed', String(!this.pinned()));
		this.show(true);
	}

	render(reply, conversation) {
		this.ids = reply.covers;
		this.node.dataset.state = reply.state;
		setText(this.text, reply.text);
		setText(this.covers, [`answers ${plural(reply.covers.length, 'message')}`, numbers(reply.covers, conversation)].filter(Boolean).join(': '));
		this.covers.hidden = !reply.covers.length;
		if (this.turns) this.details(reply);
		setText(this.state, (replyStates[reply.state] ?? reply.state) + (reply.receipt ? ` · ${reply.receipt}` : '') + (reply.late ? ' · newer input waits for the next reply' : ''));
	}
}

const authors = { human: 'by a person', fallback: 'fallback text' };

class NoteView {
	constructor() {
		this.node = element('li.entry.aside');
	}

	render(note) {
		if (note.tone) this.node.dataset.tone = note.tone;
		setText(this.node, note.text);
	}
}

/** The reply that is being written. It is not one yet, and may go again. */
class Draft {
	constructor() {
		this.text = element('p.text', { dir: 'auto' });
		this.dots = element('p.dots', { 'aria-hidden': 'true' }, element('i'), element('i'), element('i'));
		this.node = element('li.entry.reply.draft',
			element('div.bubble', this.text, this.dots),
			element('p.meta', 'draft: not sent, and may be thrown away'));
	}

	render(draft, list) {
		if (!draft) return this.node.remove();
		setText(this.text, draft.text);
		if (list.lastElementChild !== this.node) list.append(this.node);
	}
}
