// What happened when, as a drawing: lanes from left to right on one axis of
// time. It is drawn from the story alone, into nodes that are kept by key.
// Whatever is in it can be selected, by pointer or by keys, and is then told.

import { button, calm, element, follow, setText, svg } from './dom.js';
import { explain, summary, windowEnd } from './lanes.js';
import { fitting, tickStep, timescale, usual } from './timescale.js';
import { because, lasting, seconds } from './words.js';

const calmPace = 500; // milliseconds between drawings where less motion is wanted,
const restPace = 1000; // and where nothing is awaited
const restful = 10_000; // milliseconds before something does
const afterglow = 900; // milliseconds of movement after the last thing happened
const widest = 300_000; // pixels of a drawing
const step = 1.5; // of zoom

const lane = {
	input: { rows: [26, 10, 42], radius: 7.5 },
	window: { top: 64, height: 22 },
	lease: { top: 104, height: 14 },
	attempt: { top: 135, height: 24, labels: [174, 188] },
	commit: { middle: 213 },
	send: { middle: 247, labels: [251, 265] },
	lines: [52, 96, 126, 196, 230, 272],
	bottom: 272,
	axis: 287,
	height: 296,
};

/** The names of the lanes; each ends at a line. */
const names = ['inputs', 'window', 'lease', 'attempt', 'commit', 'send'];

export class Timeline {
	/** Least and most are pixels of a second. */
	constructor(root, { least = usual, most = usual, label = 'Timeline', empty = '' } = {}) {
		Object.assign(this, { least, most, root });
		this.nodes = new Map();
		this.boxes = new Map();
		this.until = 0;
		this.perSecond = 0; // 0: fits itself
		this.selected = null;
		this.build(label, empty);
		this.toEnd = follow(this.track, 'x');
		this.listen();
		new ResizeObserver(() => this.story && this.draw()).observe(this.track);
	}

	build(label, empty) {
		const labels = element('div.lanes', { 'aria-hidden': 'true' }, ...names.map((name, index) => {
			const span = element('span', name);
			span.style.height = `${lane.lines[index] - (lane.lines[index - 1] ?? 0)}px`;
			return span;
		}));
		this.drawing = svg('svg', { height: lane.height, 'aria-hidden': 'true' });
		this.track = element('div.track', { tabindex: 0, role: 'application', 'aria-label': `${label}: nothing yet`, 'aria-roledescription': 'timeline' }, this.drawing);
		this.label = label;
		this.emptiness = element('p.empty', empty);
		this.why = element('p.why', { role: 'status', dir: 'auto' });
		const zoom = (name, words, press) => button(name, { 'aria-label': words, title: words }, press);
		this.tools = element('div.zoom', { role: 'group', 'aria-label': 'Move in the timeline' },
			zoom('◂', 'Select the thing before', () => this.go(-1)), zoom('▸', 'Select the next thing', () => this.go(1)), zoom('−', 'Zoom out', () => this.zoom(1 / step)),
			zoom('+', 'Zoom in', () => this.zoom(step)), zoom('Fit', 'Fit everything in', () => this.fit()));
		this.root.replaceChildren(element('div.timeline', labels, this.track, this.emptiness),
			element('div.under', this.why, this.tools), legend());
		this.hint = 'Select something in the drawing to read why it is there: with a click or the arrow keys. + and − zoom, 0 fits.';
		setText(this.why, this.hint);
	}

	listen() {
		this.drawing.addEventListener('click', ({ target }) => {
			if (!this.dragged) this.select(target.dataset?.item ?? null);
		});
		this.track.addEventListener('keydown', (event) => this.key(event));
		this.track.addEventListener('wheel', (event) => this.wheel(event), { passive: false });
		this.track.addEventListener('pointerdown', (event) => this.drag(event));
	}

	key(event) {
		if (event.ctrlKey || event.metaKey || event.altKey) return;
		const pan = (pixels) => { this.track.scrollLeft += pixels; };
		const does = {
			ArrowRight: () => (event.shiftKey ? pan(80) : this.go(1)), ArrowLeft: () => (event.shiftKey ? pan(-80) : this.go(-1)),
			Home: () => this.go(-Infinity), End: () => this.go(Infinity), Escape: () => this.select(null),
			'+': () => this.zoom(step), '=': () => this.zoom(step), '-': () => this.zoom(1 / step), 0: () => this.fit(),
		}[event.key];
		if (!does) return;
		event.preventDefault();
		does();
	}

	// Without Ctrl (or pinching) it zooms only where the drawing has the focus, so
	// that nobody is caught who scrolls past.
	wheel(event) {
		const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey;
		if (sideways || !(event.ctrlKey || this.track.contains(document.activeElement))) return;
		event.preventDefault();
		const box = this.track.getBoundingClientRect();
		this.zoom(Math.exp(-event.deltaY / 300), event.clientX - box.left);
	}

	drag(event) {
		this.dragged = false;
		if (event.button !== 0 || event.pointerType === 'touch') return;
		const [from, scrolled] = [event.clientX, this.track.scrollLeft];
		const move = ({ clientX, buttons }) => {
			if (!buttons) return removeEventListener('pointermove', move);
			if (Math.abs(clientX - from) > 4) this.dragged = true;
			if (this.dragged) this.track.scrollLeft = scrolled + from - clientX;
		};
		addEventListener('pointermove', move);
	}

	/** Keeps what is in the middle, or under the pointer, in its place. */
	zoom(factor, at = this.track.clientWidth / 2) {
		if (!this.scale) return;
		const time = this.scale.time(this.track.scrollLeft + at);
		const most = this.scale.perSecond * (widest / Math.max(this.scale.width, 1));
		this.perSecond = Math.min(Math.max(this.scale.perSecond * factor, 0.001), 20_000, most);
		this.draw();
		this.track.scrollLeft = this.scale.x(time) - at;
		this.draw();
	}

	/** Everything is in sight, however small. */
	fit() {
		this.perSecond = 0;
		this.whole = true;
		this.draw();
	}

	/** As at first: for another story. */
	reset() {
		Object.assign(this, { selected: null, perSecond: 0, whole: false });
	}

	go(by) {
		const items = this.story?.items() ?? [];
		const now = items.findIndex(({ key }) => key === this.selected);
		const next = now < 0 && by === -1 ? items.length - 1 : Math.min(Math.max(now + by, 0), items.length - 1);
		if (items[next]) this.select(items[next].key);
	}

	select(key) {
		this.selected = key;
		this.draw();
		this.tell();
		const box = this.boxes.get(key);
		if (!box) return;
		const { scrollLeft, clientWidth } = this.track;
		if (box.x < scrollLeft + 10) this.track.scrollLeft = box.x - 40;
		else if (box.x > scrollLeft + clientWidth - 20) this.track.scrollLeft = box.x - clientWidth / 2;
	}

	tell() {
		const item = this.story?.items().find(({ key }) => key === this.selected);
		setText(this.why, item ? explain(item, this.story, this.now()) : this.hint);
		this.why.classList.toggle('told', Boolean(item));
	}

	/** Draws a story, and goes on while something moves. Now is the server's time. */
	render(story, now, live) {
		Object.assign(this, { story, now, live });
		this.until = performance.now() + afterglow;
		const text = `${this.label}: ${summary(story)}. Arrow keys go through it, + and − zoom.`;
		if (this.track.getAttribute('aria-label') !== text) this.track.setAttribute('aria-label', text);
		this.tell();
		if (!this.moving || this.timer) this.move();
	}

	move() {
		this.timer = clearTimeout(this.timer);
		if (!this.root.isConnected) return void (this.moving = false);
		this.moving = this.busy() || performance.now() < this.until;
		this.draw();
		if (!this.moving) return;
		const rests = performance.now() >= this.until && this.story.quietFor(this.now()) > restful;
		const pace = rests ? restPace : calm() && calmPace;
		if (pace) this.timer = setTimeout(() => this.move(), pace);
		else requestAnimationFrame(() => this.move());
	}

	busy() {
		return Boolean(this.live && this.story.busy());
	}

	draw() {
		if (!this.story) return;
		// What is open ends for the eye where nobody hears of it any more.
		const now = this.live ? this.now() : Math.min(this.now(), this.lastKnown());
		const spans = this.story.spans(now);
		const [fits, rest] = fitting(spans, this.track.clientWidth);
		const auto = this.whole ? fits : Math.min(Math.max(fits, this.least), this.most);
		this.scale = timescale(spans, this.perSecond || auto, this.whole ? rest : undefined);
		this.emptiness.hidden = spans.length > 0;
		this.drawn = new Set();
		this.boxes.clear();
		const width = Math.max(this.scale.width, this.track.clientWidth - 1);
		set(this.drawing, 'width', width);
		for (const y of lane.lines) this.put(`lane/${y}`, 'line', { class: 'lane', x1: 0, x2: width, y1: y, y2: y });
		this.drawAxis();
		this.story.marks.forEach((mark) => this.drawMark(mark));
		this.story.windows.forEach((window) => this.drawWindow(window, now));
		this.story.leases.forEach((lease) => this.drawLease(lease, now));
		this.drawAttempts(now);
		this.story.commits.forEach((commit) => this.drawCommit(commit));
		this.drawSends(now);
		this.drawInputs();
		if (this.busy()) this.put('now', 'line', { class: 'now', ...vertical(this.scale.x(now), 0, lane.bottom) });
		this.drawSelection();
		for (const [key, node] of this.nodes) if (!this.drawn.has(key)) this.drop(key, node);
		if (!this.perSecond) this.toEnd();
	}

	lastKnown() {
		return Math.max(...this.story.rows.map(({ at }) => at), ...this.story.windows.map(({ due }) => due), 0);
	}

	drawAxis() {
		const every = tickStep(this.scale.perSecond);
		const { scrollLeft, clientWidth } = this.track;
		for (const part of this.scale.parts) {
			const first = Math.max(0, Math.floor((this.scale.time(scrollLeft - 100) - part.start) / every));
			for (let count = first; part.start + count * every <= part.to; count += 1) {
				const x = this.scale.x(part.start + count * every);
				if (x > scrollLeft + clientWidth + 100) break;
				const key = `axis/${part.start}/${every}/${count}`;
				this.put(key, 'line', { class: 'tick', ...vertical(x, 0, lane.bottom) });
				this.write(key, 'axis', x, lane.axis, tickWords(count * every, every));
			}
			if (part.pause) this.drawPause(part);
		}
	}

	drawPause(part) {
		const x = part.left - 23;
		this.put(`pause/${part.start}`, 'line', { class: 'pause', ...vertical(x, 4, lane.bottom - 4) });
		this.write(`pause/${part.start}`, 'axis pause', x, lane.axis, lasting(part.pause));
	}

	// Fast inputs are set below each other.
	drawInputs() {
		const { rows, radius } = lane.input;
		const ends = rows.map(() => -Infinity);
		for (const input of this.story.inputs) {
			const x = this.scale.x(input.at);
			this.drawInput(input, x, rows[freeRow(ends, x, 2 * radius + 1)], radius);
		}
	}

	drawInput(item, x, y, radius) {
		const shape = { message: 'dot', edit: 'ring', repeat: 'hollow' }[item.kind];
		this.box(item, x - radius, y - radius, 2 * radius, 2 * radius);
		if (!shape) this.part(item, '', 'path', { class: 'cross', d: `M${x - 5} ${y - 5}l10 10m0-10l-10 10` });
		else this.part(item, '', 'circle', { class: shape, cx: x, cy: y, r: radius });
		if (shape && item.version) this.words(item, `number ${shape}`, x, y + 3.2, item.version);
	}

	drawWindow(item, now) {
		const { top, height } = lane.window;
		const { x } = this.scale;
		const { left, right } = this.bar(item, windowEnd(item, now), item.kind, 5);
		const passed = Math.max(0, Math.min(x(item.end ?? now), right) - left);
		this.part(item, 'passed', 'rect', { class: `passed ${item.kind}`, x: left, y: top, width: passed, height, rx: 5 });
		item.moves.slice(0, -1).forEach((move, index) => {
			const at = x(move.due);
			if (at < right - 1) this.part(item, `was/${index}`, 'line', { class: 'was', ...vertical(at, top + 4, top + height - 4) });
		});
		this.part(item, 'due', 'line', { class: 'due', ...vertical(right, top - 5, top + height + 5) });
		if (item.capped) this.part(item, 'cap', 'path', { class: 'cap', d: `M${right} ${top + height}V${top - 9}h11l-3 4 3 4h-11` });
		if (!item.end && item.due > now && this.live) this.words(item, 'label', right + 6, top + 15, seconds(item.due - now));
	}

	drawLease(item, now) {
		const { top } = lane.lease;
		const { left, right } = this.bar(item, item.end ?? now, item.lost ? 'lost' : '', 3);
		if (item.lost) this.part(item, 'cut', 'path', { class: 'cut', d: `M${right - 4} ${top - 4}l4 5-4 5 4 5-4 6` });
		const text = `${item.holder ? `${item.holder} · ` : ''}token ${item.token}`;
		const fits = [text, `${item.token}`].find((one) => one.length * 6 + 8 < right - left);
		if (fits) this.words(item, 'token', left + 5, top + 11, fits);
	}

	drawAttempts(now) {
		const ends = lane.attempt.labels.map(() => -Infinity);
		for (const item of this.story.attempts) {
			this.drawAttempt(item, now);
			const text = attemptWords(item);
			if (!text) continue;
			const left = this.scale.x(item.at);
			const row = freeRow(ends, left, text.length * 6.2 + 8);
			this.words(item, `label ${item.result}`, left, lane.attempt.labels[row], text);
		}
	}

	drawAttempt(item, now) {
		const { top, height } = lane.attempt;
		const result = item.result ?? 'running';
		const { left, right } = this.bar(item, item.end ?? now, result, 5);
		if (item.first) this.part(item, 'first', 'path', { class: 'first', d: `M${this.scale.x(item.first)} ${top + height - 9}l5 8h-10z` });
		if (right - left > 24) this.words(item, `token ${result}`, left + 6, top + 11, right - left > 66 ? `attempt ${item.number}` : item.number);
		if (result === 'discarded' || result === 'lost') this.part(item, 'strike', 'line', { class: 'strike', x1: left - 3, x2: right + 3, y1: top + height / 2, y2: top + height / 2 });
	}

	drawCommit(item) {
		const y = lane.commit.middle;
		const x = this.scale.x(item.at);
		this.box(item, x - 7, y - 7, 14, 14);
		this.part(item, '', 'path', { class: `commit ${item.passed ? '' : 'refused'}`, d: `M${x} ${y - 7}l7 7-7 7-7-7z` });
		if (!item.passed) this.part(item, 'cross', 'path', { class: 'no', d: `M${x - 2.5} ${y - 2.5}l5 5m0-5l-5 5` });
		const versions = item.through && item.version && !item.reason?.match(/human|fallback/);
		if (versions) this.words(item, `label ${item.passed ? '' : 'discarded'}`, x + 11, y + 4, `${item.through}${item.passed && item.through === item.version ? ' = ' : ' of '}${item.version}`);
	}

	drawSends(now) {
		const ends = lane.send.labels.map(() => -Infinity);
		for (const item of this.story.sends) {
			const right = this.drawSend(item, now);
			const text = sendWords(item, now);
			const row = freeRow(ends, right, text.length * 6.2 + 18);
			if (text) this.words(item, `label ${item.outcome ?? ''}`, right + 11, lane.send.labels[row], text);
		}
	}

	drawSend(item, now) {
		const y = lane.send.middle;
		const left = this.scale.x(item.at);
		const right = Math.max(this.scale.x(Math.max(item.end ?? now, item.at)), left + 9);
		this.box(item, left, y - 9, right - left + 9, 18);
		this.part(item, 'line', 'line', { class: `delivery ${item.outcome ?? ''}`, x1: left, x2: right, y1: y, y2: y });
		if (item.outcome === 'unknown') {
			this.part(item, '', 'rect', { class: 'sent unknown', x: right - 8, y: y - 8, width: 16, height: 16, rx: 3 });
			this.words(item, 'number sent', right, y + 4, '?');
		} else if (item.end) this.part(item, '', 'circle', { class: `sent ${item.outcome}`, cx: right, cy: y, r: 7 });
		else this.part(item, '', 'circle', { class: 'under-way', cx: left + 4, cy: y, r: 3.5 });
		return right;
	}

	drawMark(item) {
		const x = this.scale.x(item.at);
		this.box(item, x - 6, lane.bottom - 12, 12, 12);
		this.part(item, 'line', 'line', { class: `mark ${item.tone}`, ...vertical(x, 0, lane.bottom) });
		this.part(item, '', 'rect', { class: `mark ${item.tone}`, x: x - 5, y: lane.bottom - 11, width: 10, height: 10 });
	}

	drawSelection() {
		const box = this.boxes.get(this.selected);
		if (box) this.put('selection', 'rect', { class: 'selection', x: box.x - 4, y: box.y - 4, width: box.width + 8, height: box.height + 8, rx: 6 });
	}

	box({ key }, x, y, width, height) {
		this.boxes.set(key, { x, y, width, height });
	}

	/** A thing that lasts, as a bar in its lane. */
	bar(item, end, kind, rx) {
		const { top, height } = lane[item.lane];
		const left = this.scale.x(item.at);
		const right = Math.max(this.scale.x(end), left + 3);
		this.box(item, left, top, right - left, height);
		this.part(item, '', 'rect', { class: `${item.lane} ${kind}`, x: left, y: top, width: right - left, height, rx });
		return { left, right };
	}

	/** A text of an item, of which it has one of a kind. */
	words(item, kind, x, y, text) {
		this.part(item, kind.split(' ')[0], 'text', { class: kind, x, y, text });
	}

	write(key, kind, x, y, text) {
		this.put(`${key}/text`, 'text', { class: kind, x, y, text });
	}

	part(item, name, tag, attributes) {
		this.put(`${item.key}/${name}`, tag, { ...attributes, 'data-item': item.key, 'data-lane': item.lane });
	}

	/** Makes the node of that key, or changes it where it differs. */
	put(key, tag, attributes) {
		this.drawn.add(key);
		let node = this.nodes.get(key);
		if (node && node.tagName !== tag) {
			this.drop(key, node);
			node = null;
		}
		if (!node) {
			node = svg(tag, {});
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

const spot = { cx: 7, cy: 7, r: 5 };
const diamond = { d: 'M7 1 13 7 7 13 1 7Z' };
const signs = [
	['message', 'circle.dot', spot], ['edit', 'circle.ring', spot], ['deletion', 'path.cross', { d: 'M3 3 11 11M11 3 3 11' }], ['repeat, ignored', 'circle.hollow', spot],
	['hard cap', 'path.cap', { d: 'M4 1V13M4 2H12L9.5 4.5 12 7H4' }], ['first words', 'path.first', { d: 'M7 2 12 11H2Z' }],
	['commit: saw = newest', 'path.commit', diamond], ['not committed', 'path.commit.refused', diamond],
	['lease lost', 'path.cut', { d: 'M4 0l4 4-4 3 4 3-4 4' }], ['unknown', 'rect.sent.unknown', { x: 1, y: 1, width: 12, height: 12, rx: 3 }],
];

function legend() {
	return element('ul.legend', { 'aria-hidden': 'true' }, ...signs.map(([words, ...sign]) => element('li', svg('svg', { width: 14, height: 14 }, svg(...sign)), words)));
}

function set(node, name, value) {
	if (name === 'text') {
		if (node.textContent !== String(value)) node.textContent = value;
		return;
	}
	const text = typeof value === 'number' ? String(Math.round(value * 10) / 10) : value;
	if (node.getAttribute(name) !== text) node.setAttribute(name, text);
}

/** Takes the row that is free first. */
function freeRow(ends, x, width) {
	const free = ends.findIndex((end) => end <= x);
	const row = free >= 0 ? free : ends.indexOf(Math.min(...ends));
	ends[row] = x + width;
	return row;
}

const vertical = (x, y1, y2) => ({ x1: x, x2: x, y1, y2 });

function attemptWords({ result, through, newest, reason }) {
	if (result === 'discarded') return reason && reason !== 'superseded' ? because(reason) : `saw ${through}, newest was ${newest}`;
	if (result === 'failed') return `failed${reason ? `: ${because(reason)}` : ''}`;
	if (result === 'lost') return 'its worker went away';
	return '';
}

function sendWords({ part, parts, try: tries, outcome, at }, now) {
	const said = { failed: 'failed', unknown: 'unknown', withdrawn: 'withdrawn' }[outcome] ?? (at > now ? 'waits' : outcome && parts < 2 && tries < 2 ? 'sent' : '');
	return [parts > 1 && `part ${part}/${parts}`, tries > 1 && `try ${tries}`, said].filter(Boolean).join(', ');
}

function tickWords(milliseconds, every) {
	if (every < 1000 && milliseconds > 0 && milliseconds < 1000) return `${milliseconds} ms`;
	return milliseconds < 120_000 ? `${Number((milliseconds / 1000).toFixed(3))} s` : `${Number((milliseconds / 60_000).toFixed(2))} min`;
}
