// The conversations, newest activity first. There may be very many, so only
// the rows in sight are in the document, and pages are read as they are needed.

import { server, serverNow } from './api.js';
import { phaseAfter } from './conversation.js';
import { addressOf, button, element, onceAFrame, setText, throttled } from './dom.js';
import { lasting } from './words.js';

const pageSize = 200;
const overscan = 8; // rows above and below what is seen
const phases = ['collecting', 'generating', 'sending', 'paused', 'failed', 'idle'];
const columns = ['Conversation', 'Phase', 'Waiting', 'Last input', 'This turn', 'Node'];

export function list(root, frame) {
	frame.title('Conversations');
	const page = new List(root, frame);
	return () => page.close();
}

class List {
	constructor(root, frame) {
		this.frame = frame;
		this.filter = Object.fromEntries(['bot', 'phase', 'q'].map((name) => [name, frame.parameters.get(name) ?? '']));
		this.rows = [];
		this.byKey = new Map();
		this.views = new Map();
		this.bots = new Set();
		this.focused = 0;
		this.reading = 0;
		this.build(root);
		this.draw = onceAFrame(() => this.render());
		this.refresh = throttled(() => this.readFirst().catch(frame.trouble), 1500);
		this.stop = frame.watch(server.events, { caughtUp: () => this.readFirst(), event: (event) => this.apply(event) });
		this.ticking = setInterval(() => document.hidden || this.draw(), 1000);
		this.sizes = new ResizeObserver(this.draw);
		this.sizes.observe(this.scroller);
	}

	close() {
		this.stop();
		this.refresh.stop();
		clearInterval(this.ticking);
		clearTimeout(this.typed);
		clearTimeout(this.resting);
		this.sizes.disconnect();
	}

	build(root) {
		this.fields = {
			bot: element('select', { id: 'filter-bot' }, element('option', { value: '' }, 'all bots')),
			phase: element('select', { id: 'filter-phase' }, element('option', { value: '' }, 'all phases'), ...phases.map((name) => element('option', name))),
			q: element('input', { type: 'search', id: 'filter-text', placeholder: 'name or last input', autocomplete: 'off' }),
		};
		this.offer(this.filter.bot);
		for (const [name, field] of Object.entries(this.fields)) {
			field.value = this.filter[name];
			field.addEventListener('input', () => {
				clearTimeout(this.typed);
				this.typed = setTimeout(() => this.change(), name === 'q' ? 250 : 0);
			});
		}
		const field = (label, node) => element('div.field', element('label', { for: node.id }, label), node);
		this.count = element('p.hint', { role: 'status', id: 'count' });
		const form = element('form.filters', { role: 'search' }, ...Object.entries({ bot: 'Bot', phase: 'Phase', q: 'Text' }).map(([name, label]) => field(label, this.fields[name])), this.count);
		form.addEventListener('submit', (event) => event.preventDefault());
		this.body = element('div', { role: 'rowgroup', class: 'rows' });
		this.scroller = element('div.scroller', { id: 'scroller' }, element('div', { role: 'table', 'aria-label': 'Conversations', 'aria-rowcount': -1 },
			element('div', { role: 'rowgroup', class: 'head' }, element('div', { role: 'row', class: 'line' }, ...columns.map((name) => element('span', { role: 'columnheader' }, name)))), this.body));
		this.empty = element('div.empty', { id: 'empty', hidden: true });
		this.news = button('', { class: 'news' }, () => this.toTop());
		this.scroller.addEventListener('scroll', () => this.draw(), { passive: true });
		this.scroller.addEventListener('keydown', (event) => this.key(event));
		root.append(element('h1', 'Conversations'), form, element('section.panel', { 'aria-label': 'Conversations' }, this.scroller, this.empty, this.news));
		setText(this.count, 'Loading…');
	}

	/** The filter lives in the address, so that it can be kept and sent. */
	change() {
		for (const [name, field] of Object.entries(this.fields)) this.filter[name] = field.value.trim();
		const search = new URLSearchParams(Object.entries(this.filter).filter(([, value]) => value)).toString();
		this.frame.replace(`#/conversations${search ? `?${search}` : ''}`);
		this.rows = [];
		this.more = undefined;
		this.scroller.scrollTop = 0;
		this.readFirst().then(() => this.frame.trouble(null), this.frame.trouble);
	}

	offer(bot) {
		if (!bot || this.bots.has(bot)) return;
		this.bots.add(bot);
		const { bot: field } = this.fields;
		const selected = field.value;
		field.replaceChildren(field.firstElementChild, ...[...this.bots].sort().map((name) => element('option', { value: name }, name)));
		field.value = selected;
	}

	async readFirst() {
		const mine = ++this.reading;
		let page = { conversations: [], next_cursor: null };
		try {
			page = await server.conversations({ ...this.filter, limit: pageSize });
		} catch (problem) {
			if (problem.status !== 404 || mine !== this.reading) throw problem; // there is no such bot
		}
		if (mine !== this.reading) return;
		const kept = page.next_cursor ? following(this.rows, page.conversations) : [];
		this.rows = [...page.conversations, ...kept];
		if (!kept.length) this.more = page.next_cursor;
		this.resting = clearTimeout(this.resting);
		this.index();
		setText(this.news, '');
		this.draw();
	}

	async readMore() {
		if (!this.more || this.loading || this.resting) return;
		this.loading = true;
		const mine = this.reading;
		try {
			// A search gives up after a while without a match, and goes on from there.
			const { conversations, next_cursor: next } = await server.conversations({ ...this.filter, limit: pageSize, cursor: this.more });
			if (mine === this.reading) {
				this.rows.push(...conversations.filter((row) => !this.byKey.has(keyOf(row))));
				this.more = next;
				this.index();
			}
		} catch (problem) {
			this.frame.trouble(problem);
			this.resting = setTimeout(() => {
				this.resting = null;
				this.draw();
			}, 5000);
		}
		this.loading = false;
		this.draw();
	}

	index() {
		this.byKey = new Map(this.rows.map((row) => [keyOf(row), row]));
		for (const { bot } of this.rows) this.offer(bot);
	}

	/** What an event tells is shown at once; the order is read again, but not under somebody's hands. */
	apply(event) {
		if (event.type === 'reply.delta' || (this.filter.bot && event.bot !== this.filter.bot)) return;
		const row = this.byKey.get(keyOf(event));
		if (row) tell(row, event);
		if (row && !moves.has(event.type)) return this.draw();
		if (this.scroller.scrollTop < 10 && !this.scroller.contains(document.activeElement)) this.refresh();
		else setText(this.news, 'Something newer happened: go to the top');
		this.draw();
	}

	toTop() {
		this.scroller.scrollTop = 0;
		this.refresh();
		this.focusRow(0);
	}

	render() {
		const height = rowHeight();
		const { scrollTop, clientHeight } = this.scroller;
		const first = Math.max(0, Math.floor(scrollTop / height) - overscan);
		const last = Math.min(this.rows.length, Math.ceil((scrollTop + clientHeight) / height) + overscan);
		this.body.style.height = `${this.rows.length * height}px`;
		const drawn = new Set();
		for (let index = first; index < last; index += 1) {
			const key = keyOf(this.rows[index]);
			drawn.add(key);
			let view = this.views.get(key);
			if (!view) {
				view = new Row();
				this.views.set(key, view);
				this.body.append(view.line);
			}
			view.render(this.rows[index], index, index * height, index === this.focused);
		}
		for (const [key, view] of this.views) {
			if (drawn.has(key)) continue;
			view.line.remove();
			this.views.delete(key);
		}
		this.describe();
		if (last > this.rows.length - pageSize / 2) this.readMore();
	}

	describe() {
		const done = this.more === null;
		setText(this.count, this.more === undefined ? 'Loading…' : `${this.rows.length}${done ? '' : '+'} shown`);
		this.empty.hidden = this.rows.length > 0 || !done;
		this.scroller.hidden = !this.empty.hidden;
		if (this.empty.hidden) return;
		const filtered = Object.values(this.filter).some(Boolean);
		if (this.told === filtered) return;
		this.told = filtered;
		this.empty.replaceChildren(...filtered
			? [element('p', element('strong', 'No conversation matches.')), button('Clear the filters', {}, () => this.clear())]
			: [element('p', element('strong', 'No conversations yet.')), element('p', 'They appear here with their first message. Send one:'), element('code', 'onereply send BOT CONVERSATION "Hello"')]);
	}

	clear() {
		for (const field of Object.values(this.fields)) field.value = '';
		this.change();
		this.fields.q.focus();
	}

	key(event) {
		const seen = Math.max(1, Math.floor(this.scroller.clientHeight / rowHeight()) - 2);
		const by = { ArrowDown: 1, ArrowUp: -1, PageDown: seen, PageUp: -seen, Home: -Infinity, End: Infinity }[event.key];
		if (!by || event.ctrlKey || event.altKey || event.metaKey) return;
		event.preventDefault();
		const now = document.activeElement.closest?.('[role=row]')?.dataset.index;
		this.focusRow(Math.min(Math.max((now === undefined ? this.focused - by : Number(now)) + by, 0), this.rows.length - 1));
	}

	focusRow(index) {
		this.focused = index;
		const height = rowHeight();
		const [top, bottom] = [index * height, (index + 1) * height];
		const head = this.scroller.querySelector('.head').clientHeight;
		if (top < this.scroller.scrollTop) this.scroller.scrollTop = top;
		else if (bottom + head > this.scroller.scrollTop + this.scroller.clientHeight) this.scroller.scrollTop = bottom + head - this.scroller.clientHeight;
		this.render();
		this.views.get(keyOf(this.rows[index] ?? {}))?.link.focus({ preventScroll: true });
	}
}

class Row {
	constructor() {
		for (const name of ['name', 'state', 'waits', 'last', 'discards', 'node']) this[name] = element('span', { role: 'cell', class: name });
		this.link = element('a', { dir: 'auto' });
		this.bot = element('small');
		this.phase = element('span.phase');
		this.name.append(this.link, this.bot);
		this.state.append(this.phase);
		this.last.dir = 'auto';
		this.line = element('div', { role: 'row', class: 'line' }, this.name, this.state, this.waits, this.last, this.discards, this.node);
	}

	render(row, index, top, focusable) {
		this.line.style.transform = `translateY(${top}px)`;
		this.line.dataset.index = index;
		this.line.setAttribute('aria-rowindex', index + 2);
		this.link.tabIndex = focusable ? 0 : -1;
		const href = addressOf({ bot: row.bot, conversation: row.conversation });
		if (this.link.getAttribute('href') !== href) this.link.setAttribute('href', href);
		setText(this.link, row.conversation);
		setText(this.bot, row.bot);
		this.phase.dataset.phase = row.phase;
		setText(this.phase, row.phase);
		setText(this.waits, row.first_pending_at ? lasting(serverNow() - Date.parse(row.first_pending_at)) : '');
		setText(this.last, row.last_input?.text ?? '');
		setText(this.discards, row.discards ? `${row.discards} discarded` : '');
		setText(this.node, row.lease?.holder ?? '');
	}
}

/**
 * The rows that still follow a first page that was read again: those that are not
 * on it, where a row that did not move shows that nothing lies between.
 */
export function following(rows, page) {
	const old = new Map(rows.map((row) => [keyOf(row), row]));
	const still = page.some((row) => old.get(keyOf(row))?.last_activity_at === row.last_activity_at);
	if (!still) return [];
	const first = new Set(page.map(keyOf));
	const end = page.at(-1).last_activity_at;
	return rows.filter((row) => !first.has(keyOf(row)) && row.last_activity_at <= end);
}

const keyOf = ({ bot, conversation }) => `${bot}\n${conversation}`;

const rowHeight = () => (matchMedia('(max-width: 820px)').matches ? 76 : 46);

/** Events with which a conversation comes to the top. */
const moves = new Set(['message.accepted', 'reply.sent']);

/** What an event changes in a row, until the row is read again. */
function tell(row, event) {
	const { type, at, text, node, token, reason } = event;
	row.phase = phaseAfter(row.phase, event);
	if (type === 'message.accepted') {
		if (reason !== 'context') row.first_pending_at ??= at;
		row.last_input = { text: reason === 'deleted' ? '' : text, at };
	}
	if (type === 'reply.sent' && row.phase === 'idle') row.first_pending_at = null;
	if (type === 'reply.discarded' && reason !== 'replaced') row.discards = (row.discards ?? 0) + 1;
	if (type === 'turn.started') row.lease = { holder: node, token };
	else if (row.phase !== 'generating' && row.phase !== 'sending') row.lease = null;
}
