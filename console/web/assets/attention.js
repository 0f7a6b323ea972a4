// What needs a person: why, since when, and what can be done about it.

import { remedies } from './actions.js';
import { API, server, serverNow } from './api.js';
import { addressOf, button, clock, element, fill, setText } from './dom.js';
import { because, lasting } from './words.js';

const kinds = {
	failed_turn: ['Turn failed', 'There is no reply. What waits is kept.'],
	set_aside: ['Set aside', 'What came later was answered without it.'],
	unknown_send: ['Unknown send', 'Nobody knows whether the reply arrived. Look at the other side, then send it again or mark it as sent.'],
	undelivered: ['Not delivered', 'The other side refused the reply for good.'],
	partial: ['Delivered in part', 'Some parts arrived, the rest was given up.'],
	over_budget: ['Budget used up', 'What waits is kept. A greater budget in the configuration ends this too, within five minutes.'],
	lease_lost: ['Worker lost', 'The turn goes on by itself. If it happens again, look at the node.'],
	overdue: ['Overdue', 'It waits longer than it should. Is a node running that serves this bot?'],
};
const resting = 15_000; // between looks: what is overdue becomes so without an event
const concerns = new Set(['turn.failed', 'reply.failed', 'reply.sent', 'reply.marked', 'reply.resent', 'turn.requeued', 'turn.started', 'part.unknown', 'lease.lost', 'conversation.paused', 'conversation.resumed']);

export function attention(root, frame) {
	frame.title('Attention');
	const list = element('ol.items', { id: 'items' });
	const empty = element('div.empty', { id: 'empty' }, element('p', 'Loading…'));
	const more = button('Show more', { hidden: true }, () => next());
	root.append(element('h1', 'Attention'), element('section.panel', { 'aria-label': 'What needs a person' }, empty, list, more));
	const views = new Map();
	let pages = 1;

	const look = async () => {
		const items = [];
		let cursor = '';
		for (let page = 0; page < pages; page += 1) {
			const answer = await server.attention({ limit: 50, cursor });
			items.push(...answer.items);
			cursor = answer.next_cursor;
			if (!cursor) break;
		}
		more.hidden = !cursor;
		show(items);
	};
	const { again, stop } = frame.keepLooking(look, resting, (type) => concerns.has(type));
	const next = () => {
		pages += 1;
		again();
	};

	function show(items) {
		const keys = items.map(({ kind, bot, conversation, turn }) => JSON.stringify([kind, bot, conversation, turn]));
		keys.forEach((key, index) => views.has(key) ? views.get(key).render(items[index]) : views.set(key, new Item(items[index], frame, again)));
		for (const key of views.keys()) if (!keys.includes(key)) views.delete(key);
		fill(list, keys.map((key) => views.get(key).node));
		empty.hidden = items.length > 0;
		if (!items.length) empty.replaceChildren(element('p', element('strong', 'Nothing needs you.')), element('p', 'What failed, lost its worker, waits too long or may not have arrived appears here.'));
	}

	return stop;
}

class Item {
	constructor(item, frame, changed) {
		const { kind, bot, conversation, turn, actions = [] } = item;
		const api = new API(bot, conversation);
		const [title, about] = kinds[kind] ?? [kind, ''];
		this.since = element('span.since');
		this.reason = element('p.reason', { dir: 'auto' });
		this.node = element('li', { 'data-kind': kind, class: 'item' },
			element('div', element('p', element('strong.kind', title), ' ', conversation ? element('a', { href: addressOf(item), dir: 'auto' }, conversation) : '', element('small', turn ? `${bot} · turn ${turn}` : bot), this.since),
				element('p.hint', about), this.reason),
			element('div.row', ...remedies(api, turn, frame, changed, actions)));
		this.render(item);
	}

	render({ since, at, reason }) {
		const when = since ?? at;
		if (when && this.when !== when) this.since.replaceChildren(clock(when, ''));
		this.when = when;
		if (when) setText(this.since.firstElementChild, `since ${lasting(serverNow() - Date.parse(when))}`);
		setText(this.reason, because(reason));
	}
}
