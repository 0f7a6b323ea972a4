// One conversation: what was said, what happened, and what can be done.

import { API, may, server } from './api.js';
import { Actions, copier } from './actions.js';
import { Chat } from './chat.js';
import { Conversation } from './conversation.js';
import { addressOf, button, clock, element, onceAFrame, panel, setText, table, throttled } from './dom.js';
import { join, read, stepsOf, turnOf } from './lanes.js';
import { Timeline } from './timeline.js';
import { lasting, plural, timeOf } from './words.js';

const mostShown = 800; // entries, where nobody asked for earlier ones

export function talk(root, frame) {
	const page = new Talk(root, frame);
	return () => page.close();
}

export class Talk {
	constructor(root, frame) {
		const [bot, conversation] = frame.parts;
		Object.assign(this, { frame, bot, conversation, reads: 0, asked: 0, answered: 0 });
		this.address = addressOf(this);
		this.turn = Number(frame.parameters.get('turn')) || 0; // 0: the latest, as it happens
		this.all = frame.parameters.get('turn') === 'all';
		this.api = new API(bot, conversation);
		this.stored = [];
		this.live = [];
		this.early = [];
		frame.title(conversation);
		this.build(root);
		this.model = new Conversation(onceAFrame(() => this.render()));
		this.refresh = throttled(() => this.readState().catch(frame.trouble), 700);
		this.stop = frame.watch(this.api.events, { caughtUp: () => this.readAll(), event: (event) => this.apply(event), lost: () => this.lost() });
		this.ticking = setInterval(() => document.hidden || this.renderState(), 500);
	}

	close() {
		this.stop();
		this.refresh.stop();
		clearInterval(this.ticking);
		this.chat.list.replaceChildren();
	}

	build(root) {
		this.phase = element('span.phase', { id: 'phase', role: 'status' });
		this.facts = element('dl.facts');
		const head = element('div.title', element('a', { href: '#/conversations', class: 'back' }, 'Conversations'),
			element('h1', { dir: 'auto' }, this.conversation), element('span.bot', this.bot), this.phase);

		this.earlier = button('Earlier messages', { id: 'earlier', hidden: true }, () => this.readEarlier().catch(this.frame.trouble));
		const messages = element('ol', { id: 'messages' });
		const empty = element('div.empty', { id: 'chat-empty' }, element('p', 'Loading…'));
		const scroller = element('div.messages', { id: 'messages-scroll', role: 'region', 'aria-label': 'Messages and replies', tabindex: 0 }, this.earlier, empty, messages);
		this.chat = new Chat({ list: messages, scroller, empty }, { turns: (turn) => `${this.address}?turn=${turn}` });

		this.turns = element('select', { id: 'turn' });
		this.turns.addEventListener('change', () => this.choose(this.turns.value));
		const move = (label, words, by) => button(label, { 'aria-label': words, title: words }, () => this.step(by));
		this.before = move('‹', 'The turn before', -1);
		this.after = move('›', 'The next turn', 1);
		const drawing = element('div', { id: 'timeline' });
		this.timeline = new Timeline(drawing, { least: 18, most: 420, label: 'Timeline of the turn', empty: 'Nothing happened yet. Inputs, the window, attempts and the reply appear here as they happen.' });
		this.table = element('tbody');
		this.json = element('pre', { tabindex: 0, role: 'region', 'aria-label': 'The steps as JSON', id: 'json' });
		const asTable = element('details', { id: 'as-table' }, element('summary', 'As a table'), table('The steps as a table', ['Time', 'After', 'What', 'Why', 'Node', 'Token'], this.table));
		const asJSON = element('details', { id: 'as-json' }, element('summary', 'As JSON'), element('div.row',
			copier(() => this.jsonText(), 'the JSON', this.frame.say), button('Download', { id: 'download' }, () => this.download())), this.json);
		for (const details of [asTable, asJSON]) details.addEventListener('toggle', () => this.renderSteps(true));
		Object.assign(this, { asTable, asJSON });
		const what = element('section.panel', { 'aria-labelledby': 'timeline-title' },
			element('div.heading', element('h2', { id: 'timeline-title' }, 'What happened'),
				element('div.turns', { role: 'group', 'aria-label': 'Turn' }, this.before, element('label.hidden', { for: 'turn' }, 'Turn'), this.turns, this.after)),
			drawing, asTable, asJSON);

		const actions = element('div', { id: 'actions' });
		this.actions = new Actions(actions, { api: this.api, bot: this.bot, conversation: this.conversation, frame: this.frame, done: (name) => this.acted(name), there: () => this.there() });
		this.audit = element('ol', { id: 'audit', class: 'audit' });
		root.append(head, this.facts, element('div.columns',
			element('section.panel.chat', { 'aria-labelledby': 'chat-title' }, element('h2', { id: 'chat-title', class: 'hidden' }, 'Transcript'), scroller),
			element('div.side', what, panel('Actions', 'act', actions), panel('Who did what', 'who', this.audit))));
	}

	// Events wait: what is read may be older.
	async readAll(live = true) {
		this.early ??= [];
		this.reads++;
		try {
			await this.readTranscript();
			this.exists ||= this.model.entries.length > 0 || await this.listed();
			await this.readState();
			this.model.settle(this.state ?? null);
			this.model.connected ||= live;
			this.read = true;
		} finally {
			if (!--this.reads && this.read) {
				const { early } = this;
				this.early = null;
				early.forEach((event) => this.take(event));
				this.render();
			}
		}
	}

	/** Reads the end, and what is shown before it. */
	async readTranscript() {
		let { entries, next } = await this.api.transcript();
		if (!this.model.joins(entries)) this.model.keep(0);
		const first = this.model.first();
		while (next > first) {
			const page = await this.api.transcript(next);
			entries = [...page.entries, ...entries];
			next = page.next;
		}
		this.olderThan = entries[0]?.seq < first ? first : next;
		this.model.merge(entries.filter(({ seq }) => !(seq < first)));
	}

	async readEarlier() {
		this.earlier.disabled = true;
		try {
			const { entries, next } = await this.api.transcript(this.olderThan);
			this.olderThan = next;
			this.model.mergeEarlier(entries);
			const { scroller } = this.chat;
			const below = scroller.scrollHeight - scroller.scrollTop;
			this.render();
			scroller.scrollTop = scroller.scrollHeight - below;
		} finally {
			this.earlier.disabled = false;
		}
	}

	// One may be paused before its first message. Browsers log a 404, so the list is asked.
	async listed() {
		const { conversations } = await server.conversations({ bot: this.bot, q: this.conversation });
		return conversations.some(({ conversation }) => conversation === this.conversation);
	}

	async readState() {
		if (!this.exists) return this.render();
		const order = ++this.asked;
		const latest = this.api.timeline();
		const seen = this.live.length;
		const [state, stored, audit] = await Promise.all([this.api.state(), latest, may('admin') && this.api.audit()]);
		const missing = this.turn && !this.all && stored && !stored.turns.some(({ turn }) => turn === this.turn);
		const one = missing ? await this.api.timeline({ turn: this.turn }) : null;
		if (order < this.answered) return; // a later read was faster
		this.answered = order;
		if (!state) return this.gone();
		this.state = state;
		if (seen === this.live.length) this.model.phase = state.phase;
		if (stored) {
			this.stored = [...(one?.turns ?? []), ...stored.turns];
			const last = this.live.findLast(({ type }) => type === 'reply.delta');
			this.live = this.live.filter((event, index) => event === last || index >= seen); // the rest is stored
		}
		this.renderAudit(audit);
		this.render();
	}

	/** Whether it is there: an action on one deleted elsewhere would make a new one. */
	async there() {
		return Boolean(await this.api.state()) || void this.gone();
	}

	gone() {
		Object.assign(this, { state: null, exists: false, stored: [], live: [], model: Object.assign(new Conversation(this.model.changed), { connected: this.model.connected }) });
		this.chat.clear();
		this.renderAudit([]);
		this.render();
	}

	apply(event) {
		if (this.early) this.early.push(event);
		else this.take(event);
	}

	take(event) {
		this.model.apply(event);
		this.exists = true;
		if (event.type !== 'reply.delta' || !this.live.some(({ type, token }) => type === 'reply.delta' && token === event.token)) this.live.push(event);
		if (event.type !== 'reply.delta') this.refresh();
	}

	lost() {
		this.model.connected = false;
		this.render();
	}

	acted(name) {
		if (name === 'delete') return this.frame.go('#/conversations');
		this.readAll(false).catch(this.frame.trouble); // some statuses have no event
	}

	steps() {
		const all = join(this.stored.flatMap(stepsOf), this.live);
		const turns = turnOf(all);
		const numbers = [...new Set([...turns, ...this.stored.map(({ turn }) => turn)])].filter(Boolean).sort((a, b) => a - b);
		const shown = this.all ? 0 : this.turn || numbers.at(-1);
		return { numbers, shown, steps: shown ? all.filter((step, index) => turns[index] === shown) : all };
	}

	choose(value) {
		this.all = value === 'all';
		this.turn = Number(value) || 0;
		this.frame.replace(this.address + (value ? `?turn=${value}` : ''));
		this.timeline.reset();
		if (this.turn) this.refresh();
		this.render();
	}

	step(by) {
		const { numbers, shown } = this.steps();
		const at = numbers.indexOf(shown);
		const next = numbers[at < 0 ? numbers.length - 1 : at + by];
		if (next) this.choose(next === numbers.at(-1) ? '' : String(next));
	}

	render() {
		if (this.early && this.exists) return;
		const atEnd = this.chat.render(this.model);
		if (atEnd && this.model.entries.length > mostShown) { // watched for long
			this.model.keep(mostShown / 2);
			this.olderThan = this.model.first();
			this.chat.render(this.model);
		}
		this.earlier.hidden = !this.olderThan;
		if (!this.model.entries.length) setText(this.chat.empty.firstElementChild, this.state ? 'The transcript is empty: what was said is no longer kept.' : 'Nothing was ever received here, or it was deleted. Check the name, or wait for the first message.');
		this.actions.render(this.state, this.model.entries);
		this.renderState();
		this.renderSteps();
	}

	renderState() {
		const { state } = this;
		const { phase } = this.model;
		const open = this.story?.openWindow();
		const due = open?.due ?? Date.parse(state?.due_at ?? '');
		const left = due - this.model.now();
		this.phase.dataset.phase = phase;
		setText(this.phase, phase);
		const facts = state ? {
			waits: state.pending ? `${plural(state.pending, 'input')}, since ${lasting(this.model.now() - Date.parse(state.first_pending_at))}` : 'nothing',
			'next look': phase === 'collecting' && left > 0 ? `in ${lasting(left)}` : '',
			version: `${state.version}, answered up to ${state.answered}`,
			lease: state.lease ? `${state.lease.holder}, token ${state.lease.token}` : 'none',
			discards: state.discards ? String(state.discards) : '',
			'paused because': state.pause_reason ?? '',
			'last error': state.last_error ?? '',
		} : {};
		const texts = Object.entries(facts).filter(([, text]) => text);
		const names = texts.map(([name]) => name).join();
		if (this.names !== names) this.facts.replaceChildren(...texts.map(([name]) => element('div', element('dt', name), element('dd', { dir: 'auto' }))));
		this.names = names;
		texts.forEach(([, text], index) => setText(this.facts.children[index].lastElementChild, text));
	}

	renderSteps(force) {
		const { numbers, shown, steps } = this.steps();
		const story = read(steps);
		this.story = story;
		this.shownSteps = steps;
		this.timeline.render(story, () => this.model.now(), this.model.connected);
		this.renderTurns(numbers, shown);
		const key = `${steps.length}/${shown}`;
		if (this.drawnSteps === key && !force) return;
		this.drawnSteps = key;
		if (this.asTable.open) this.table.replaceChildren(...story.rows.map((row) => line(row, story.rows[0].at)));
		if (this.asJSON.open) setText(this.json, this.jsonText());
	}

	renderTurns(numbers, shown) {
		const at = numbers.indexOf(shown);
		this.before.disabled = at === 0 || !numbers.length;
		this.after.disabled = at < 0 || at === numbers.length - 1;
		const key = `${numbers.join()}/${this.all}/${this.turn}`;
		if (this.turns.dataset.key === key) return;
		this.turns.dataset.key = key;
		const options = [element('option', { value: '' }, numbers.length ? `latest: turn ${numbers.at(-1)}` : 'latest'),
			...numbers.toReversed().map((number) => element('option', { value: number }, `turn ${number}`)), element('option', { value: 'all' }, 'all of these')];
		this.turns.replaceChildren(...options);
		this.turns.value = this.all ? 'all' : this.turn || '';
	}

	/** The steps without what people wrote. */
	jsonText() {
		const steps = this.shownSteps.map(({ id, text, covers, bot, conversation, ...step }) => step);
		return JSON.stringify({ bot: this.bot, conversation: this.conversation, steps }, null, 1);
	}

	download() {
		const url = URL.createObjectURL(new Blob([this.jsonText()], { type: 'application/json' }));
		element('a', { href: url, download: `timeline-${this.conversation.replace(/[^\w.-]+/g, '_').slice(0, 60)}.json` }).click();
		setTimeout(() => URL.revokeObjectURL(url), 1000);
	}

	renderAudit(entries) {
		if (!entries) return this.audit.replaceChildren(element('li.empty', 'Your key lacks the right admin, which the audit needs.'));
		if (!entries.length) return this.audit.replaceChildren(element('li.empty', 'Nobody acted here yet. Each action is noted here, with the key that it came with.'));
		this.audit.replaceChildren(...entries.map(({ at, action, by, from, reason }) => element('li', clock(at),
			element('strong', action), element('span', { dir: 'auto' }, [`by ${by}`, from && `from ${from}`, reason].filter(Boolean).join(' · ')))));
	}
}

function line({ step, at, tone, text }, first) {
	const cells = [clock(at, timeOf(at, 3)), `+${((at - first) / 1000).toFixed(3)} s`, step.type, text, step.node ?? '', step.token ?? ''];
	return element('tr', { 'data-tone': tone, 'data-type': step.type }, ...cells.map((cell) => element('td', { dir: 'auto' }, cell)));
}
