// What the page knows of the conversation: the one place that events, receipts
// and the transcript change. Chat and list only read it; the drawing is made of
// the steps that it keeps.
//
// Everything may arrive twice and in either order (an event before the receipt
// of the call that caused it, a transcript that holds what an event told), so
// each change is one that may safely happen again.

import { sentence, thrownAway } from './words.js';

const kept = { sentences: 300, drawn: 240, steps: 900 };

/** Statuses of replies after which nothing more happens to them. */
const settled = new Set(['sent', 'undelivered', 'unknown', 'withdrawn', 'no_reply', 'partial']);

/** Events that move the window in the same write. */
const movesWindow = new Set(['message.accepted', 'reply.discarded']);

/** Reasons of discards that newer input or a person caused, not a fault. */
const overtaken = new Set(['superseded', 'paused', 'deleted', 'closed_by_human']);

export class Conversation {
  constructor(changed) {
    this.changed = changed;
    this.entries = []; // messages, replies and notes, as the chat shows them
    this.known = new Map(); // the same by id
    this.draft = null; // the reply that is being written
    this.sentences = [];
    this.version = 0;
    this.phase = 'idle';
    this.count = { messages: 0, repeats: 0, discards: 0, replies: 0 };

    this.steps = []; // for the drawing: events, and the repeats that receipts told of

    // Times are milliseconds of the server's clock.
    this.windows = []; // { due, end, capped }
    this.attempts = []; // { token, number, through, first, end }

    this.skew = Infinity; // how far this clock is ahead of the server's
  }

  /** The server's time now, as far as events tell. */
  now() {
    return Date.now() - (Number.isFinite(this.skew) ? this.skew : 0);
  }

  /** The latest own message that can be delivered again. */
  lastDelivered() {
    return this.entries.findLast((entry) => entry.type === 'message' && entry.version > 0 && entry.state !== 'deleted');
  }

  // What this page does.

  /** A message that is on its way to the server. */
  sending(id, text) {
    this.put({ type: 'message', id, text, state: 'sending', version: 0, number: 0, edits: [], repeats: 0, note: '' });
    this.changed();
  }

  /** The answer to sending, editing or deleting a message. */
  receipt(id, receipt) {
    const message = this.known.get(id);
    if (receipt.duplicate) {
      message.repeats += 1;
      this.count.repeats += 1;
      this.step({ type: 'message.repeated', at: new Date(this.now()).toISOString(), message_id: id });
      this.say({ tone: 'quiet', text: `Message ${message.number} was delivered again: recognised as a repeat, nothing changed.` });
    }
    if (message.state === 'sending' || message.state === 'unsent') message.state = 'waiting';
    message.note = receipt.outcome === 'ignored' ? refusal(receipt.reason) : '';
    this.changed();
  }

  /** A call about a message that did not work. */
  refused(id, trouble) {
    const message = this.known.get(id);
    const never = message.version === 0 && message.state === 'sending';
    if (never) message.state = trouble.again ? 'unsent' : 'refused';
    message.note = trouble.message + (never && trouble.again ? ' Sending again is safe: the id stays the same.' : '');
    this.changed();
  }

  /** Before a message is tried again. */
  retrying(id) {
    Object.assign(this.known.get(id), { state: 'sending', note: '' });
    this.changed();
  }

  // What the server tells.

  /** Takes over a transcript, in which each entry may be known already. */
  merge(transcript) {
    for (const entry of transcript) {
      if (entry.kind === 'message') this.mergeMessage(entry);
      else this.mergeReply(entry);
    }
    this.recount();
    this.changed();
  }

  mergeMessage({ id, text, version, status }) {
    const message = this.known.get(id) ?? this.put({ type: 'message', id, number: version, edits: [], repeats: 0, note: '' });
    message.number ||= version;
    message.version = Math.max(message.version ?? 0, version);
    message.text = text;
    message.state = status === 'pending' ? 'waiting' : status;
    this.version = Math.max(this.version, version);
  }

  mergeReply({ id, text, covers, status, late_input: late, author }) {
    const reply = this.known.get(id) ?? this.put({ type: 'reply', id });
    Object.assign(reply, { text, covers: covers ?? [], late, author, state: status === 'committed' ? 'sending' : status });
    if (settled.has(reply.state)) this.cover(reply);
  }

  /**
   * Takes over the state after the stream was away: what it says is over did
   * end, though nobody saw how. It is null where nothing was ever received.
   */
  settle(state) {
    this.phase = state?.phase ?? 'idle';
    if (this.phase !== 'generating') {
      this.draft = null;
      for (const attempt of this.attempts) {
        if (!attempt.end) attempt.end = this.now();
      }
    }
    if (this.phase !== 'collecting') this.closeWindow(this.now());
    this.changed();
  }

  /** Takes an event of the stream. */
  apply(event) {
    const at = Date.parse(event.at);
    this.skew = Math.min(this.skew, Date.now() - at);
    this.version = Math.max(this.version, event.version ?? 0);
    this.step(event);
    const told = this[event.type]?.(event, at);
    if (told) this.tell(event, told);
    this.changed();
  }

  /** Says it; the window that the same write moved belongs to what moved it. */
  tell(event, told) {
    const last = this.sentences.at(-1);
    if (event.type === 'turn.scheduled' && last?.cause?.event.version === event.version) {
      Object.assign(last, sentence(last.cause.event, { ...last.cause.told, ...told }, this), { cause: null });
      return;
    }
    const cause = movesWindow.has(event.type) ? { event, told } : null;
    this.say({ ...sentence(event, told, this), cause });
  }

  // One method for each type of event. Each returns what its sentence needs,
  // or nothing where there is nothing to say.

  'message.accepted'(event, at) {
    let message = this.known.get(event.message_id);
    const kind = inputKind(message, event);
    if (kind === 'known') return null;
    message ??= this.put({ type: 'message', id: event.message_id, text: event.text, edits: [], repeats: 0, note: '' });
    message.number ||= event.version;
    message.version = event.version;
    if (kind === 'message') this.count.messages += 1;
    else message.edits.push(event.version);
    message.text = event.text ?? '';
    message.state = kind === 'delete' ? 'deleted' : 'waiting';
    message.note = '';
    const running = this.running();
    if (!this.entries.some((entry) => entry.state === 'waiting')) this.nothingWaits(at);
    return { kind, number: message.number, running };
  }

  'turn.scheduled'(event, at) {
    if (this.phase !== 'paused') this.phase = 'collecting';
    return { window: this.moveWindow(event, at) };
  }

  'turn.started'(event, at) {
    this.phase = 'generating';
    this.closeWindow(at);
    const attempt = { token: event.token, number: event.attempt, through: event.through || event.version };
    this.draw(this.attempts, attempt);
    this.draft = { token: event.token, text: '' };
    return { attempt };
  }

  'reply.delta'(event, at) {
    const attempt = this.running();
    if (this.draft) this.draft.text += event.text ?? '';
    if (!attempt || attempt.first) return null;
    attempt.first = at;
    return { attempt };
  }

  'reply.discarded'(event, at) {
    const attempt = this.endAttempt(event, at);
    if (overtaken.has(event.reason)) this.count.discards += 1;
    if (event.reply_id) this.withdraw(event);
    this.phase = 'idle';
    const saw = event.through || attempt?.through;
    const why = thrownAway(event, saw);
    this.put({ type: 'note', id: `discard/${event.token}`, text: `A draft was thrown away: ${why}.` });
    return { number: attempt?.number || event.attempt, why };
  }

  'reply.committed'(event, at) {
    const none = !event.parts && !event.text; // the bot chose not to reply
    this.phase = none ? 'idle' : 'sending';
    this.endAttempt(event, at);
    return { reply: this.reply(event, none ? 'no_reply' : 'sending'), none };
  }

  'reply.sent'(event, at) {
    this.endAttempt(event, at);
    const last = !event.parts || (event.part ?? 0) >= event.parts;
    const reply = this.reply(event, last ? 'sent' : 'sending');
    if (last) {
      this.phase = 'idle';
      this.cover(reply);
      this.recount();
    }
    return { reply, last };
  }

  'reply.failed'(event) {
    this.phase = 'idle';
    return { reply: this.reply(event, event.reason === 'unknown_outcome' ? 'unknown' : 'undelivered') };
  }

  'turn.failed'(event, at) {
    this.endAttempt(event, at);
    this.phase = 'failed';
    this.put({ type: 'note', tone: 'bad', id: `failed/${event.turn}/${event.id}`, text: `This turn failed: ${event.reason || 'no reason was given'}. Your messages are kept; send another one to try again.` });
    return {};
  }

  'conversation.paused'(event, at) {
    this.phase = 'paused';
    this.closeWindow(at);
    return {};
  }

  'conversation.resumed'() {
    this.phase = 'idle';
    return {};
  }

  // The parts that those are made of.

  put(entry) {
    if (!this.known.has(entry.id)) {
      this.known.set(entry.id, entry);
      this.entries.push(entry);
    }
    return this.known.get(entry.id);
  }

  reply({ reply_id: id, text, covers, late_input: late }, state) {
    const reply = this.put({ type: 'reply', id, text: '', covers: [] });
    if (text) reply.text = text;
    if (covers?.length) reply.covers = covers;
    reply.late ||= late;
    reply.state = state;
    return reply;
  }

  cover(reply) {
    for (const id of reply.covers) {
      const message = this.known.get(id);
      if (message && message.state !== 'deleted') message.state = 'answered';
    }
  }

  running() {
    return this.attempts.findLast((attempt) => !attempt.end);
  }

  endAttempt({ token }, at) {
    const attempt = this.attempts.findLast((one) => one.token === token && !one.end);
    if (attempt) attempt.end = at;
    if (this.draft?.token === token) this.draft = null;
    return attempt;
  }

  /** A reply that was certainly not delivered, and was overtaken. */
  withdraw({ reply_id: id }) {
    const reply = this.known.get(id);
    if (reply) reply.state = 'withdrawn';
  }

  nothingWaits(at) {
    this.closeWindow(at);
    if (!this.running()) this.phase = 'idle';
  }

  openWindow() {
    return this.windows.findLast((window) => !window.end);
  }

  closeWindow(at) {
    const open = this.openWindow();
    if (open) open.end = at;
  }

  /** Opens the window or moves its end. */
  moveWindow({ due_at: dueAt, reason }, at) {
    let open = this.openWindow();
    if (!open) {
      open = {};
      this.draw(this.windows, open);
    }
    open.due = Date.parse(dueAt);
    open.capped = reason === 'max_wait';
    return { left: Math.max(0, open.due - at), capped: open.capped };
  }

  step(step) {
    this.steps.push(step);
    if (this.steps.length > kept.steps) this.steps.shift();
  }

  draw(list, item) {
    list.push(item);
    if (list.length > kept.drawn) list.shift();
  }

  say(said) {
    this.sentences.push({ key: (this.sentences.at(-1)?.key ?? 0) + 1, at: this.now(), ...said });
    if (this.sentences.length > kept.sentences) this.sentences.shift();
  }

  recount() {
    const of = (type) => this.entries.filter((entry) => entry.type === type);
    this.count.messages = of('message').filter((message) => message.version > 0).length;
    this.count.replies = of('reply').filter((reply) => reply.state === 'sent').length;
  }
}

/** Tells a new message from an edit, a deletion, or what is known already. */
function inputKind(message, { version, reason }) {
  if (message && version <= message.version) return 'known';
  return { edited: 'edit', deleted: 'delete' }[reason] ?? 'message';
}

function refusal(reason) {
  if (reason === 'already_answered') return 'Already answered: nothing was changed.';
  return `Nothing was changed: ${String(reason ?? 'no reason was given').replaceAll('_', ' ')}.`;
}
