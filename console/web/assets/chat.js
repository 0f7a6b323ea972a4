// The messages and replies. Each entry has one view, which is made once and
// then only changed, so that focus and a half-written edit survive.

import { button, element, follow, setText } from './dom.js';
import { numbers, plural } from './words.js';

const states = {
  sending: 'sending…', waiting: 'waiting for the reply', answered: 'answered', deleted: 'deleted',
  unsent: 'not sent', refused: 'not accepted', closed: 'closed without a reply', failed: 'set aside',
};

const replyStates = {
  sending: 'on its way', sent: 'sent', undelivered: 'not delivered', unknown: 'nobody knows whether it arrived',
  withdrawn: 'withdrawn: newer input came first', no_reply: 'chose not to reply', partial: 'delivered in part',
};

export class Chat {
  /** Actions: edit(id, text), remove(id), retry(id). Without them it is only looked at, and says more: turns(number) is then the address of a turn. */
  constructor({ list, scroller, empty }, actions, turns) {
    Object.assign(this, { list, empty, actions, turns });
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
    conversation.entries.forEach((entry, index) => {
      const view = this.view(entry);
      view.render(entry, conversation);
      if (this.list.children[index] !== view.node) this.list.insertBefore(view.node, this.list.children[index] ?? null);
    });
    this.draft.render(conversation.draft, this.list);
    this.toEnd(force);
  }

  view(entry) {
    if (!this.views.has(entry.id)) this.views.set(entry.id, this.make(entry));
    return this.views.get(entry.id);
  }

  make(entry) {
    if (entry.type === 'message') return new MessageView(entry.id, this.actions);
    if (entry.type === 'reply') return new ReplyView((ids, on) => this.highlight(ids, on), this.turns);
    return new NoteView();
  }

  highlight(ids, on) {
    for (const id of ids) this.views.get(id)?.node.classList.toggle('covered', on);
  }
}

class MessageView {
  constructor(id, actions) {
    this.id = id;
    this.actions = actions;
    this.text = element('p', { class: 'text', dir: 'auto' });
    this.number = element('span', { class: 'number' });
    this.state = element('span', { class: 'state' });
    this.repeats = element('span', { class: 'repeats' });
    this.note = element('p', { class: 'note' });
    this.edit = button('Edit', {}, () => this.startEdit());
    this.remove = button('Delete', {}, () => actions?.remove(id));
    this.retry = button('Send again', { class: 'retry' }, () => actions?.retry(id));
    this.who = element('span', { class: 'who', dir: 'auto' });
    this.meta = element('p', { class: 'meta' }, this.number, this.who, this.state, this.repeats);
    this.tools = element('div', { class: 'tools' }, this.retry, this.edit, this.remove);
    this.tools.hidden = !actions;
    this.bubble = element('div', { class: 'bubble' }, this.text);
    this.node = element('li', { class: 'entry mine' }, this.bubble, element('div', { class: 'below' }, this.meta, this.tools), this.note);
  }

  render(message) {
    const gone = message.state === 'deleted';
    this.node.dataset.state = message.state;
    this.node.dataset.id = message.id;
    this.current = message.text;
    setText(this.text, gone ? 'This message was deleted' : message.text + things(message.attachments));
    if (!this.actions) setText(this.who, [message.sender?.name || message.sender?.id, timeOf(message.at)].filter(Boolean).join(' · '));
    setText(this.number, message.number ? `#${message.number}` : '');
    setText(this.state, stateWords(message));
    setText(this.repeats, message.repeats ? `delivered again ${message.repeats}×: recognised, ignored` : '');
    setText(this.note, message.note);
    this.note.hidden = !message.note;
    this.retry.hidden = message.state !== 'unsent';
    if (!this.actions) return;
    this.edit.hidden = this.remove.hidden = gone || !message.version;
    const name = message.number ? `message ${message.number}` : 'the message';
    this.edit.setAttribute('aria-label', `Edit ${name}`);
    this.remove.setAttribute('aria-label', `Delete ${name}`);
    if (gone) this.endEdit(false);
  }

  startEdit() {
    if (this.field) return;
    this.field = element('textarea', { rows: 2, 'aria-label': 'New text of the message', dir: 'auto' });
    this.field.value = this.current;
    this.field.addEventListener('keydown', (event) => this.key(event));
    this.form = element('div', { class: 'editing' }, this.field, element('div', { class: 'row' },
      button('Save', { class: 'primary' }, () => this.save()),
      button('Cancel', {}, () => this.endEdit(true))));
    this.text.hidden = this.tools.hidden = true;
    this.bubble.append(this.form);
    this.field.focus();
    this.field.select();
  }

  key(event) {
    if (event.isComposing) return;
    if (event.key === 'Escape') this.endEdit(true);
    if (event.key !== 'Enter' || event.shiftKey) return;
    event.preventDefault();
    this.save();
  }

  save() {
    const text = this.field.value;
    if (!text.trim()) return this.field.focus();
    this.endEdit(true);
    if (text !== this.current) this.actions.edit(this.id, text);
  }

  endEdit(focus) {
    if (!this.field) return;
    this.form.remove();
    this.field = this.form = null;
    this.text.hidden = this.tools.hidden = false;
    if (focus) this.edit.focus();
  }
}

const timeOf = (at) => (at ? new Date(at).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', second: '2-digit' }) : '');

const things = (attachments) => (attachments ?? []).map(({ kind, pending }) => ` [${kind || 'attachment'}${pending ? ', being processed' : ''}]`).join('');

function stateWords({ state, edits }) {
  const words = states[state] ?? state;
  if (state === 'deleted' || !edits.length) return words;
  return `edited as #${edits.at(-1)} · ${words}`;
}

class ReplyView {
  constructor(highlight, turns) {
    this.turns = turns;
    this.turn = element('a', { class: 'turn' });
    this.text = element('p', { class: 'text', dir: 'auto' });
    this.covers = element('button', { type: 'button', class: 'covers', 'aria-pressed': 'false' });
    this.state = element('span', { class: 'state' });
    this.node = element('li', { class: 'entry reply' },
      element('div', { class: 'bubble' }, this.text),
      element('div', { class: 'below' }, this.covers, element('p', { class: 'meta' }, this.state, this.turn)));
    this.ids = [];
    this.show = (on) => highlight(this.ids, on || this.pinned());
    this.node.addEventListener('pointerenter', () => this.show(true));
    this.node.addEventListener('pointerleave', () => this.show(false));
    this.covers.addEventListener('focus', () => this.show(true));
    this.covers.addEventListener('blur', () => this.show(false));
    this.covers.addEventListener('click', () => this.pin());
  }

  details({ turn, at, author }) {
    this.turn.hidden = !turn;
    if (turn) this.turn.setAttribute('href', this.turns(turn));
    setText(this.turn, [`turn ${turn}`, authors[author], timeOf(at)].filter(Boolean).join(' · '));
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
    setText(this.covers, `answers ${plural(reply.covers.length, 'message')}: ${numbers(reply.covers, conversation)}`);
    this.covers.hidden = !reply.covers.length;
    if (this.turns) this.details(reply);
    setText(this.state, (replyStates[reply.state] ?? reply.state) + (reply.late ? ' · newer input waits for the next reply' : ''));
  }
}

const authors = { human: 'by a person', fallback: 'fallback text' };

class NoteView {
  constructor() {
    this.node = element('li', { class: 'entry aside' });
  }

  render(note) {
    if (note.tone) this.node.dataset.tone = note.tone;
    setText(this.node, note.text);
  }
}

/** The reply that is being written. It is not one yet, and may go again. */
class Draft {
  constructor() {
    this.text = element('p', { class: 'text', dir: 'auto' });
    this.dots = element('p', { class: 'dots', 'aria-hidden': 'true' }, element('i'), element('i'), element('i'));
    this.node = element('li', { class: 'entry reply draft' },
      element('div', { class: 'bubble' }, this.text, this.dots),
      element('p', { class: 'meta' }, 'draft: not sent, and may be thrown away'));
  }

  render(draft, list) {
    if (!draft) return this.node.remove();
    setText(this.text, draft.text);
    if (list.lastElementChild !== this.node) list.append(this.node);
  }
}
