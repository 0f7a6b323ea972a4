// How it goes: what came in and went out, what was saved, how long people
// waited, and the nodes.

import { server } from './api.js';
import { bars, numbers } from './charts.js';
import { clock, element, panel, setText, table } from './dom.js';
import { buckets, quantile, savings } from './savings.js';
import { amount, lasting, plural, timeOf } from './words.js';

const resting = 10_000; // between looks while nothing happens: nodes fall silent without an event

export function overview(root, frame) {
	frame.title('Overview');
	const main = element('div.sections', element('p.empty', { role: 'status' }, 'Loading…'));
	root.append(element('h1', 'Overview'), main);
	const view = new View(main);
	const { stop } = frame.keepLooking(async () => view.render(await server.overview()), resting, (type) => type !== 'reply.delta');
	const redraw = () => view.data && view.render(view.data, true); // charts are drawn to the width
	addEventListener('resize', redraw);
	return () => {
		removeEventListener('resize', redraw);
		stop();
	};
}

class View {
	constructor(main) {
		this.main = main;
		this.tiles = element('dl.tiles');
		this.minutes = section('Inputs and replies per minute', 'minutes');
		this.saved = section('What was saved', 'saved');
		this.times = section('Time to reply', 'times');
		this.nodes = section('Nodes', 'nodes');
	}

	render(data, again) {
		this.data = data;
		const key = JSON.stringify({ ...data, now: 0, nodes: data.nodes.map((node) => ({ ...node, seen_at: 0 })) });
		this.renderNodes(data);
		if (key === this.shown && !again) return;
		this.shown = key;
		if (!this.tiles.isConnected) this.main.replaceChildren(this.tiles, this.minutes.node, this.saved.node, this.times.node, this.nodes.node);
		this.renderTiles(data);
		this.renderMinutes(data);
		this.renderSaved(data);
		this.renderTimes(data.time_to_reply);
	}

	renderTiles({ totals, minutes, time_to_reply: times, nodes }) {
		const hour = (name) => sum(minutes, name);
		const half = quantile(times, 0.5);
		tiles(this.tiles, [
			['inputs, last hour', amount(hour('inputs'))], ['replies, last hour', amount(hour('replies')), 'good'],
			['model calls saved since start', amount(savings(totals).saved), 'good'], ['time to reply, half within', half === null ? '–' : lasting(half * 1000)],
			['being written now', amount(sum(nodes, 'generating'))], ['conversations in memory', amount(sum(nodes, 'waiting'))],
			...[['failed turns', hour('failed')], ['leases lost', hour('leases_lost')]].map(([name, count]) => [`${name}, last hour`, amount(count), count ? 'bad' : '', '#/attention']),
		]);
	}

	renderMinutes({ minutes }) {
		const groups = minutes.map(({ at, inputs, replies }, index) => {
			const time = timeOf(at);
			return { label: (minutes.length - 3 - index) % (this.minutes.width() < 600 ? 20 : 10) === 0 ? time : '', title: `${time}: ${plural(inputs, 'input')}, ${replies === 1 ? '1 reply' : `${replies} replies`}`, values: [inputs, replies] };
		});
		const label = `Inputs and replies in each of the last ${minutes.length} minutes: ${amount(sum(minutes, 'inputs'))} inputs, ${amount(sum(minutes, 'replies'))} replies.`;
		this.minutes.put(key([['in', 'inputs'], ['out', 'replies']]), element('div.plot', bars({ groups, classes: ['bar in', 'bar out'], label, width: this.minutes.width() })),
			numbers('Each minute in numbers', ['Minute', 'Inputs', 'Replies', 'Repeats', 'Discards', 'Model calls', 'Failed', 'Leases lost'],
				minutes.toReversed().map((one) => [timeOf(one.at), one.inputs, one.replies, one.duplicates, one.discards, one.model_calls, one.failed, one.leases_lost])));
	}

	renderSaved({ totals }) {
		const { coalesced, repeats, stale, naive, calls, plain, saved, wasted, each, tokens } = savings(totals);
		const facts = element('dl.tiles.small');
		tiles(facts, [['replies saved: bursts answered as one', amount(coalesced)], ['repeats of webhooks ignored', amount(repeats)], ['stale replies discarded, never sent', amount(stale)]]);
		const most = Math.max(naive, calls, 1);
		const waited = totals.early_starts ? [['… had the quiet time been waited out', plain, 'bar calls']] : [];
		const compare = [['one call for each message', naive, 'bar in'], ['calls that were made', calls, 'bar calls'], ...waited].map(([words, value, kind]) => {
			const bar = element('span', { class: kind });
			bar.style.width = `${(value / most) * 100}%`;
			return element('li', element('span.said', words), element('span.room', bar), element('strong', amount(value)));
		});
		const cost = saved ? `${plural(saved, 'model call')} fewer than with one call for each message and repeat${each ? `: about ${amount(tokens)} tokens, at ${amount(each)} for a reply as the discarded ones had` : ''}.`
			: 'No model call was saved yet: so far each message came alone.';
		const early = totals.early_starts ? ` ${plural(totals.early_starts, 'attempt')} started early, and newer input replaced ${amount(totals.replaced)} of them: the price of replies that come sooner.` : '';
		const paid = wasted ? ` Drafts that were thrown away cost ${amount(wasted)} tokens.` : '';
		this.saved.put(facts, element('ul.compare', ...compare), element('p.sentence', cost + early + paid), element('p.hint', 'Since the nodes started.'));
	}

	renderTimes(histogram) {
		const all = buckets(histogram);
		const used = all.findLastIndex(({ count }) => count > 0);
		if (used < 0) return this.times.put(element('p.empty', 'No reply was sent yet. With the first ones, this shows how long people waited.'));
		const shown = all.slice(0, Math.min(used + 2, all.length));
		const name = ({ from, to }) => (to === Infinity ? `over ${short(from)}` : `≤ ${short(to)}`);
		const [half, most] = [quantile(histogram, 0.5), quantile(histogram, 0.95)].map((part) => lasting(part * 1000));
		const sentence = `Half of the replies were sent within about ${half} of the first message, 95 of 100 within about ${most}.`;
		this.times.put(element('p.sentence', sentence),
			element('div.plot', bars({ groups: shown.map((one) => ({ label: name(one), title: `${name(one)}: ${one.count}`, values: [one.count] })), classes: ['bar out'], label: `Time to reply. ${sentence}`, width: this.times.width(), every: Math.ceil(shown.length / 9) })),
			numbers('Times to reply in numbers', ['Within', 'Replies'], shown.map((one) => [name(one), one.count])));
	}

	renderNodes({ nodes, now }) {
		if (!this.table) {
			this.table = element('tbody');
			this.nodes.put(table('Table of the nodes', ['Node', 'State', 'Writing', 'In memory', 'Store', 'Version', 'Started', 'Seen'], this.table));
		}
		const ago = (at) => clock(at, `${lasting(Date.parse(now) - Date.parse(at))} ago`);
		const said = { ready: 'ready', draining: 'draining: it stops', silent: 'silent: not heard of' };
		this.table.replaceChildren(...nodes.map((node) => element('tr', element('th', { scope: 'row', dir: 'auto' }, node.node),
			...[element('span', { class: `health ${node.state}` }, said[node.state] ?? node.state), amount(node.generating), amount(node.waiting),
				node.store ?? '', node.version ?? '', ago(node.started_at), ago(node.seen_at)].map((cell) => element('td', cell)))));
	}
}

const sum = (list, name) => list.reduce((total, one) => total + (one[name] ?? 0), 0);

/** A section whose contents are replaced; what the person opened stays open. */
function section(title, id) {
	const content = element('div.content');
	return {
		width: () => Math.max(260, content.clientWidth - 32),
		node: panel(title, id, content),
		put(...children) {
			const open = content.querySelector('details')?.open;
			const stops = () => [...content.querySelectorAll('summary, [tabindex]')];
			const focused = stops().indexOf(document.activeElement);
			content.replaceChildren(...children);
			if (open) content.querySelector('details').open = true;
			if (focused >= 0) stops()[focused]?.focus({ preventScroll: true });
		},
	};
}

function tiles(list, facts) {
	if (list.children.length !== facts.length) list.replaceChildren(...facts.map(([name, , , href]) => element('div', element('dt', href ? element('a', { href }, name) : name), element('dd'))));
	facts.forEach(([, value, tone], index) => {
		const dd = list.children[index].lastElementChild;
		setText(dd, value);
		dd.className = tone ?? '';
	});
}

const key = (classes) => element('ul.key', { 'aria-hidden': 'true' }, ...classes.map(([kind, words]) => element('li', element('i', { class: `bar ${kind}` }), words)));

const short = (inSeconds) => (inSeconds < 60 ? `${inSeconds} s` : inSeconds < 3600 ? `${Math.round(inSeconds / 6) / 10} min` : `${Math.round(inSeconds / 360) / 10} h`);
