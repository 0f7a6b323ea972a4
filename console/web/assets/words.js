// An event as a sentence. The list of these says all that the drawing shows.

const reasons = {
  superseded: 'newer input came',
  paused: 'the conversation was paused',
  deleted: 'nothing is left to answer',
  closed_by_human: 'a person answered instead',
  withdrawn: 'it was not delivered yet, and newer input came',
  worker_lost: 'its worker went away',
  turns_per_minute: 'too many turns started within a minute',
  unknown_outcome: 'nobody knows whether it arrived',
  handed_back: 'its node is closing, and another goes on',
  outage: 'the model could not be reached',
  failure: 'the model’s call failed',
  rejected: 'the model refused the request',
};

/** A reason code in words. */
export const because = (reason) => reasons[reason] ?? String(reason ?? '').replaceAll('_', ' ');

/** Why an attempt was discarded; newer input is told by what it saw. */
export function thrownAway({ reason, version }, saw) {
  if (reason && reason !== 'superseded') return because(reason);
  return `it saw ${saw}, the newest was ${version}`;
}

/** Milliseconds as seconds with one decimal. */
export const seconds = (milliseconds) => `${(milliseconds / 1000).toFixed(1)} s`;

/** "1 message", "2 messages". */
export const plural = (count, noun) => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** "1, 2 and 5", or "1 to 12", from the ids of messages. */
export function numbers(ids, conversation) {
  const list = ids.map((id) => conversation.known.get(id)?.number || '?');
  const last = list.pop();
  if (list.length > 5 && last - list[0] === list.length) return `${list[0]} to ${last}`;
  return list.length ? `${list.join(', ')} and ${last}` : String(last);
}

/** The sentence of an event: its tone and text. */
export function sentence(event, told, conversation) {
  return tellers[event.type](event, told, conversation);
}

const tellers = {
  'message.accepted': (event, told) => ({ tone: 'input', text: inputWords(event, told) }),

  'turn.scheduled': (event, { window }) => ({ tone: 'window', text: capital(windowWords(window)) }),

  'turn.started': (event, { attempt }) => ({
    tone: 'attempt',
    text: `Attempt ${attempt.number || 1} of turn ${event.turn} starts under token ${event.token}: it sees everything up to ${attempt.through}.`,
  }),

  'reply.delta': (event, { attempt }) => ({ tone: 'attempt', text: `Attempt ${attempt.number || 1} writes its first words.` }),

  'reply.discarded': (event, { number, why, window }) => ({
    tone: 'discard',
    text: `Attempt ${number || 1} discarded: ${why}${window ? `; ${windowWords(window)}` : '.'}`,
  }),

  'reply.committed': (event, { reply, none }, conversation) => ({
    tone: 'reply',
    text: none ? `The bot chose not to reply to ${coverWords(reply, conversation)}.`
      : `Reply committed: it covers ${coverWords(reply, conversation)}${reply.late ? ', and newer input gets the next reply' : ', and nothing newer exists'}.`,
  }),

  'reply.sent': (event, { reply, last }, conversation) => ({
    tone: 'reply',
    text: last ? `Reply sent: one reply for ${coverWords(reply, conversation)}.` : `Part ${event.part} of ${event.parts} of the reply sent.`,
  }),

  'reply.failed': (event) => ({ tone: 'discard', text: `The reply could not be delivered: ${because(event.reason) || 'no reason was given'}.` }),
  'turn.failed': (event) => ({ tone: 'discard', text: `Turn ${event.turn} failed: ${because(event.reason) || 'no reason was given'}. The next message tries again.` }),
  'conversation.paused': (event) => ({ tone: 'quiet', text: `Paused${event.reason ? `: ${because(event.reason)}` : ''}. Messages are kept, nothing is sent.` }),
  'conversation.resumed': () => ({ tone: 'quiet', text: 'Resumed.' }),
};

function inputWords(event, { kind, number, window, running }) {
  const what = {
    message: `Message ${number} accepted`,
    edit: `Message ${number} edited, which is input ${event.version}`,
    delete: `Message ${number} deleted, which is input ${event.version}`,
  }[kind];
  if (window) return `${what}: ${windowWords(window)}`;
  if (running) return `${what} while attempt ${running.number || 1} runs, which saw only ${running.through}.`;
  return `${what}.`;
}

function windowWords({ left, capped }) {
  if (capped) return `the window has reached its hard cap and ends in ${seconds(left)}, whatever comes.`;
  return `the window now ends in ${seconds(left)}.`;
}

function coverWords(reply, conversation) {
  if (!reply.covers.length) return 'what waited';
  const noun = reply.covers.length === 1 ? 'message' : 'messages';
  return `${noun} ${numbers(reply.covers, conversation)}`;
}

const capital = (text) => text[0].toUpperCase() + text.slice(1);
