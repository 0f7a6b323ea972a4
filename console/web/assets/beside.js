// The settings of the demo, and the broken lock beside the conversation.

import { set, settings } from './ownapi.js';
import { element, follow, setText } from './dom.js';
import { Origin, ours } from './origin.js';

const defaults = { debounce: 1500, max_wait: 4000, model_delay: 2000 };
const ranges = { debounce: [0, 5, 0.1], max_wait: [1, 20, 0.5], model_delay: [0.2, 8, 0.2] };

/** Milliseconds of a duration as Go writes it, such as "1m1.5s". */
export function milliseconds(duration) {
	const units = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
	return [...String(duration).matchAll(/([\d.]+)(ms|h|m|s)/g)].reduce((sum, [, number, unit]) => sum + number * units[unit], 0);
}

/** The sliders. They are shown where the server lets a page change its demo bot. */
export class Sliders {
	constructor(root, complain) {
		Object.assign(this, { root, complain });
		this.values = { ...defaults };
		this.fields = Object.fromEntries(Object.keys(ranges).map((name) => [name, root.querySelector(`[name=${name}]`)]));
		for (const [name, field] of Object.entries(this.fields)) {
			[field.min, field.max, field.step] = ranges[name];
			field.addEventListener('input', () => this.show());
			field.addEventListener('change', () => this.save());
		}
		settings().then((found) => found && this.take(found), () => {});
	}

	take(settings) {
		for (const [name, field] of Object.entries(this.fields)) field.value = milliseconds(settings[name]) / 1000;
		this.root.hidden = false;
		this.show();
	}

	show() {
		for (const [name, field] of Object.entries(this.fields)) {
			this.values[name] = field.value * 1000;
			setText(this.root.querySelector(`output[for=${field.id}]`), `${Number(field.value).toFixed(1)} s`);
			field.setAttribute('aria-valuetext', `${field.value} seconds`);
		}
	}

	async save() {
		this.show();
		try {
			const wanted = Object.fromEntries(Object.entries(this.values).map(([name, value]) => [name, `${Math.round(value)}ms`]));
			const settings = await set(wanted);
			if (settings) this.take(settings);
			this.complain('');
		} catch ({ message }) {
			this.complain(`The setting was not changed: ${message}`);
		}
	}
}

const clock = {
	now: () => Date.now(),
	after(time, what) {
		const timer = setTimeout(what, time);
		return () => clearTimeout(timer);
	},
};

/** The panel with the re-enactment, which gets the same clicks. */
export class Beside {
	constructor({ panel, button, list, scroller, table }, sliders) {
		Object.assign(this, { panel, button, list, table, sliders });
		this.toEnd = follow(scroller, 'y');
		button.addEventListener('click', () => this.turn(this.panel.hidden));
		this.clear();
	}

	turn(on) {
		this.panel.hidden = !on;
		this.button.setAttribute('aria-pressed', String(on));
		document.body.classList.toggle('compared', on);
	}

	clear() {
		const settings = () => ({ debounce: this.sliders.values.debounce, delay: this.sliders.values.model_delay });
		this.origin = new Origin(settings, clock, () => this.render());
		this.conversation = null;
		this.views = new Map();
		this.list.replaceChildren();
		this.render();
	}

	receive(id, text) {
		this.origin.receive(id, text);
	}

	/** Also called when the conversation beside it changed. */
	render(conversation = this.conversation) {
		this.conversation = conversation;
		const { messages, replies, runs } = this.origin;
		const lost = new Set(this.origin.lost());
		for (const message of messages) this.entry(message, 'mine', message.text, [message.answers > 1 ? `answered ${message.answers} times` : lost.has(message) ? 'lost: nothing will answer it' : message.answers ? 'answered' : 'waiting'], lost.has(message) || message.answers > 1);
		for (const reply of replies) this.entry(reply, 'reply', reply.text, [reply.again && `answers ${reply.again} again`, reply.stale && 'stale: a newer message was there'].filter(Boolean), reply.again || reply.stale);
		const busy = runs.filter(({ ended }) => !ended).length;
		setText(this.table.querySelector('[data-busy]'), busy > 1 ? `${busy} calls of the model write at once` : busy ? 'the model writes' : '');
		const both = [conversation ? ours(conversation) : {}, this.origin.count()];
		for (const name of ['replies', 'calls', 'twice', 'stale', 'lost']) {
			both.forEach((count, index) => {
				const cell = this.table.querySelector(`[data-count=${name}]`).children[index + 1];
				setText(cell, String(count[name] ?? 0));
				cell.classList.toggle('bad', ['twice', 'stale', 'lost'].includes(name) && count[name] > 0);
			});
		}
		this.toEnd();
	}

	entry(thing, kind, text, notes, bad) {
		let view = this.views.get(thing);
		if (!view) {
			view = element('li', { class: `entry ${kind}` }, element('div.bubble', element('p.text', { dir: 'auto' }, text)), element('p.meta'));
			this.views.set(thing, view);
			this.list.append(view);
		}
		setText(view.lastElementChild, notes.join(' · '));
		view.classList.toggle('wrong', Boolean(bad));
	}
}
