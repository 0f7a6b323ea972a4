// The events in words, one line each, oldest first.

import { clock, element, follow } from './dom.js';
import { timeOf } from './words.js';

export class Log {
	constructor({ list, scroller, empty }) {
		Object.assign(this, { list, empty });
		this.toEnd = follow(scroller, 'y');
		this.shown = null;
	}

	clear() {
		this.list.replaceChildren();
		this.shown = null;
	}

	/** Rows are those of a story: the sentence of each step. Old ones fall off its front. */
	render(rows) {
		this.empty.hidden = rows.length > 0;
		const from = rows.findIndex((row) => row.step === this.shown) + 1;
		for (const row of rows.slice(from)) this.list.append(line(row));
		this.shown = rows.at(-1)?.step ?? null;
		while (this.list.children.length > rows.length) this.list.firstElementChild.remove();
		this.toEnd();
	}
}

function line({ at, tone, text }) {
	return element('li', { 'data-tone': tone }, clock(at, timeOf(at, 1)), element('span', { dir: 'auto' }, text));
}
