// What happened when, as a drawing: four lanes from left to right. It is drawn
// from the conversation alone, as a whole, into nodes that are kept by key.

import { calm, follow } from './dom.js';
import { timescale } from './timescale.js';
import { because, plural, seconds } from './words.js';

const namespace = 'http://www.w3.org/2000/svg';
const calmPace = 500; // milliseconds between drawings where less motion is wanted
const afterglow = 900; // milliseconds of movement after the last thing happened

const lane = {
  input: { rows: [26, 10, 42], radius: 7.5 },
  window: { top: 66, height: 24 },
  attempt: { lease: 112, top: 119, height: 24, labels: [158, 173] },
  reply: { middle: 213 },
  lines: [52, 104, 184, 240],
  axis: 255,
  bottom: 240,
};

export class Timeline {
  constructor({ track, drawing, empty }) {
    Object.assign(this, { track, drawing, empty });
    this.nodes = new Map();
    this.toEnd = follow(track, 'x');
    this.until = 0;
    this.moving = false;
    new ResizeObserver(() => this.conversation && this.draw()).observe(track);
  }

  /** Draws the conversation, and goes on while something moves. */
  render(conversation) {
    if (conversation !== this.conversation) this.clear();
    this.conversation = conversation;
    this.until = performance.now() + afterglow;
    this.describe();
    if (!this.moving) this.move();
  }

  clear() {
    this.nodes.clear();
    this.drawing.replaceChildren();
  }

  move() {
    this.moving = this.busy() || performance.now() < this.until;
    this.draw();
    if (!this.moving) return;
    if (calm()) setTimeout(() => this.move(), calmPace);
    else requestAnimationFrame(() => this.move());
  }

  busy() {
    const { windows, attempts, deliveries } = this.conversation;
    return Boolean(this.conversation.connected
      && (windows.some((one) => !one.end) || attempts.some((one) => !one.end) || deliveries.some((one) => !one.sent)));
  }

  describe() {
    const { inputs, attempts, deliveries } = this.conversation;
    const discarded = attempts.filter((one) => one.result === 'discarded').length;
    const sent = deliveries.filter((one) => one.state === 'sent').length;
    const text = inputs.length
      ? `Timeline: ${plural(inputs.length, 'input')}, ${plural(attempts.length, 'attempt')} of which ${discarded} discarded, ${sent === 1 ? '1 reply' : `${sent} replies`}`
      : 'Timeline: nothing yet';
    if (this.drawing.getAttribute('aria-label') !== text) this.drawing.setAttribute('aria-label', text);
  }

  draw() {
    const now = this.conversation.now();
    this.drawn = new Set();
    this.scale = timescale(this.spans(now));
    this.empty.hidden = this.scale.parts.length > 0;
    const width = Math.max(this.scale.width, this.track.clientWidth);
    this.drawing.setAttribute('width', width);
    this.drawLanes(width);
    this.drawAxis();
    for (const window of this.conversation.windows) this.drawWindow(window, now);
    this.drawAttempts(now);
    for (const delivery of this.conversation.deliveries) this.drawDelivery(delivery, now);
    this.drawInputs();
    if (this.busy()) this.put('now', 'line', { class: 'now', ...vertical(this.scale.x(now), 0, lane.bottom) });
    for (const [key, node] of this.nodes) if (!this.drawn.has(key)) this.drop(key, node);
    this.toEnd();
  }

  spans(now) {
    const { inputs, windows, attempts, deliveries } = this.conversation;
    return [
      ...inputs.map(({ at }) => [at, at]),
      ...windows.map((one) => [one.start, windowEnd(one, now)]),
      ...attempts.map((one) => [one.start, one.end ?? now]),
      ...deliveries.map((one) => [one.committed, (one.sent ?? now) + 600]),
    ];
  }

  drawLanes(width) {
    for (const y of lane.lines) this.put(`lane/${y}`, 'line', { class: 'lane', x1: 0, x2: width, y1: y, y2: y });
  }

  drawAxis() {
    for (const part of this.scale.parts) {
      for (let step = 0; part.start + step * 1000 <= part.to; step += 1) {
        const x = this.scale.x(part.start + step * 1000);
        const key = `axis/${part.start}/${step}`;
        this.put(key, 'line', { class: 'tick', ...vertical(x, 0, lane.bottom) });
        this.put(`${key}/text`, 'text', { class: 'axis', x, y: lane.axis, text: `${step} s` });
      }
      if (part.pause) this.drawPause(part);
    }
  }

  drawPause(part) {
    const x = part.left - 23;
    this.put(`pause/${part.start}`, 'line', { class: 'pause', ...vertical(x, 4, lane.bottom - 4) });
    this.put(`pause/${part.start}/text`, 'text', { class: 'axis pause', x, y: lane.axis, text: pauseWords(part.pause) });
  }

  // Inputs that come fast are set below each other, so that none is hidden.
  drawInputs() {
    const { rows, radius } = lane.input;
    const ends = rows.map(() => -Infinity);
    for (const input of this.conversation.inputs) {
      const x = this.scale.x(input.at);
      const free = ends.findIndex((end) => end + 2 * radius + 1 <= x);
      const row = free >= 0 ? free : ends.indexOf(Math.min(...ends));
      ends[row] = x;
      this.drawInput(input, x, rows[row], radius);
    }
  }

  drawInput({ key, kind, version }, x, y, radius) {
    const shape = { message: 'dot', edit: 'ring', repeat: 'hollow' }[kind];
    const title = inputTitle(kind, version);
    if (kind === 'delete') this.put(key, 'path', { class: 'cross', d: `M${x - 5} ${y - 5}l10 10m0-10l-10 10`, title });
    else this.put(key, 'circle', { class: shape, cx: x, cy: y, r: radius, title });
    if (kind !== 'delete' && version) this.put(`${key}/text`, 'text', { class: `number ${shape}`, x, y: y + 3.2, text: version });
  }

  drawWindow(window, now) {
    const { top, height } = lane.window;
    const { x } = this.scale;
    const start = x(window.start);
    const end = Math.max(x(windowEnd(window, now)), start + 2);
    const passed = Math.max(0, Math.min(x(window.end ?? now), end) - start);
    const title = `Window: ${seconds(windowEnd(window, now) - window.start)}${window.capped ? ', ended by the hard cap' : ''}`;
    this.put(window.key, 'rect', { class: 'window', x: start, y: top, width: end - start, height, rx: 5, title });
    this.put(`${window.key}/passed`, 'rect', { class: 'passed', x: start, y: top, width: passed, height, rx: 5 });
    window.moves.slice(0, -1).forEach((move, index) => {
      const at = x(move.due);
      if (at < end - 1) this.put(`${window.key}/was/${index}`, 'line', { class: 'was', ...vertical(at, top + 4, top + height - 4) });
    });
    this.put(`${window.key}/due`, 'line', { class: 'due', ...vertical(end, top - 5, top + height + 5) });
    if (window.capped) this.put(`${window.key}/cap`, 'path', { class: 'cap', d: `M${end} ${top + height}V${top - 10}h11l-3 4 3 4h-11`, title: 'Hard cap: the window can grow no further' });
    if (!window.end && window.due > now) this.put(`${window.key}/left`, 'text', { class: 'label', x: end + 6, y: top + 16, text: seconds(window.due - now) });
  }

  drawAttempts(now) {
    const ends = lane.attempt.labels.map(() => -Infinity);
    for (const attempt of this.conversation.attempts) {
      this.drawAttempt(attempt, now);
      const text = attemptWords(attempt);
      if (!text) continue;
      const left = this.scale.x(attempt.start);
      const row = Math.max(0, ends.findIndex((end) => end <= left));
      ends[row] = left + text.length * 6.2 + 8;
      this.put(`${attempt.key}/words`, 'text', { class: `label ${attempt.result ?? ''}`, x: left, y: lane.attempt.labels[row], text });
    }
  }

  drawAttempt(attempt, now) {
    const { top, height, lease } = lane.attempt;
    const { x } = this.scale;
    const left = x(attempt.start);
    const right = Math.max(x(attempt.end ?? now), left + 3);
    const result = attempt.result ?? 'running';
    const title = `Attempt ${attempt.number || 1} under token ${attempt.token}, ${attemptWords(attempt) || result}`;
    this.put(`${attempt.key}/lease`, 'line', { class: 'lease', x1: left, x2: Math.max(right, x(this.leaseEnd(attempt, now))), y1: lease, y2: lease, title: `Lease with token ${attempt.token}` });
    this.put(attempt.key, 'rect', { class: `attempt ${result}`, x: left, y: top, width: right - left, height, rx: 5, title });
    if (attempt.first) this.put(`${attempt.key}/first`, 'path', { class: 'first', d: `M${x(attempt.first)} ${top + height - 9}l5 8h-10z`, title: 'First words' });
    if (right - left > 56) this.put(`${attempt.key}/token`, 'text', { class: `token ${result}`, x: left + 7, y: top + 11, text: `token ${attempt.token}` });
    if (result === 'discarded') this.put(`${attempt.key}/strike`, 'line', { class: 'strike', x1: left - 3, x2: right + 3, y1: top + height / 2, y2: top + height / 2 });
  }

  /** The lease is kept until the reply is sent. */
  leaseEnd({ token, end, result }, now) {
    if (!end) return now;
    const delivery = result === 'committed' && this.conversation.deliveries.find((one) => one.token === token);
    return delivery ? delivery.sent ?? now : end;
  }

  drawDelivery({ key, committed, sent, covers, state, late }, now) {
    const { middle } = lane.reply;
    const left = this.scale.x(committed);
    const right = Math.max(this.scale.x(sent ?? now), left + 13);
    this.put(`${key}/line`, 'line', { class: 'delivery', x1: left, x2: right, y1: middle, y2: middle });
    this.put(`${key}/commit`, 'path', { class: 'commit', d: `M${left} ${middle - 6}l6 6-6 6-6-6z`, title: 'Committed' });
    if (!sent) return;
    this.put(`${key}/sent`, 'circle', { class: `sent ${state}`, cx: right, cy: middle, r: 7, title: `Reply: ${state}` });
    this.put(`${key}/words`, 'text', { class: 'label', x: right + 11, y: middle + 4, text: state === 'sent' ? `answers ${covers}${late ? ', late input' : ''}` : state });
  }

  /** Makes the node of that key, or changes it where it differs. */
  put(key, tag, attributes) {
    this.drawn.add(key);
    let node = this.nodes.get(key);
    if (!node) {
      node = document.createElementNS(namespace, tag);
      this.nodes.set(key, node);
      this.drawing.append(node);
    }
    for (const [name, value] of Object.entries(attributes)) set(node, name, value);
  }

  drop(key, node) {
    node.remove();
    this.nodes.delete(key);
  }
}

function set(node, name, value) {
  if (name === 'text') {
    if (node.textContent !== String(value)) node.textContent = value;
    return;
  }
  if (name === 'title') return setTitle(node, value);
  const text = typeof value === 'number' ? String(Math.round(value * 10) / 10) : value;
  if (node.getAttribute(name) !== text) node.setAttribute(name, text);
}

function setTitle(node, text) {
  if (!node.firstChild) node.append(document.createElementNS(namespace, 'title'));
  if (node.firstChild.textContent !== text) node.firstChild.textContent = text;
}

const vertical = (x, y1, y2) => ({ x1: x, x2: x, y1, y2 });

const windowEnd = (window, now) => window.end ?? Math.max(window.due, now);

function inputTitle(kind, version) {
  if (kind === 'repeat') return `Message ${version} again: ignored`;
  return { message: 'Message', edit: 'Edit', delete: 'Deletion' }[kind] + `, input ${version}`;
}

function attemptWords({ result, through, newest, reason }) {
  if (result === 'discarded') return reason && reason !== 'superseded' ? because(reason) : `saw ${through}, newest was ${newest}`;
  if (result === 'failed') return 'failed';
  if (result === 'unseen') return 'end not seen';
  return '';
}

function pauseWords(milliseconds) {
  const whole = Math.round(milliseconds / 1000);
  if (whole < 90) return `${whole} s`;
  return whole < 5400 ? `${Math.round(whole / 60)} min` : `${Math.round(whole / 3600)} h`;
}
