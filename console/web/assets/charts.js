// Two charts, drawn by hand: pairs of bars over time, and how long it took.

import { element, svg, table } from './dom.js';

/** The next of 1, 2, 5, 10, 20, … at or above a number. */
export function niceTop(number) {
	const base = 10 ** Math.floor(Math.log10(Math.max(number, 1)));
	return [1, 2, 5, 10].map((factor) => factor * base).find((top) => top >= number);
}

/**
 * Bars for each of groups [{ label, title, values }], values as many as classes.
 * What it shows is said in words by label; a table beside it says all of it.
 */
export function bars({ groups, classes, label, width, every = 1 }) {
	const [height, left, bottom, top] = [180, 34, 22, 8];
	const most = niceTop(Math.max(1, ...groups.flatMap(({ values }) => values)));
	const room = (width - left) / groups.length;
	const thick = Math.max(1, (room * 0.82) / classes.length);
	const scale = (value) => (value / most) * (height - bottom - top);
	const drawing = svg('svg', { viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': label, class: 'chart' });
	for (const line of most % 2 === 0 && most > 2 ? [0, 0.5, 1] : [0, 1]) {
		const y = height - bottom - scale(most * line);
		drawing.append(svg('line.lane', { x1: left, x2: width, y1: y, y2: y }), svg('text.scale', { x: left - 6, y: y + 4 }, String(most * line)));
	}
	groups.forEach(({ label: name, title, values }, index) => {
		const x = left + index * room;
		const group = svg('g', svg('title', title));
		values.forEach((value, which) => {
			const tall = value ? Math.max(scale(value), 2) : 0;
			group.append(svg('rect', { class: classes[which], x: x + which * thick + room * 0.09, y: height - bottom - tall, width: thick, height: tall }));
		});
		group.append(svg('rect.touch', { x, y: top, width: room, height: height - bottom - top }));
		if (name && index % every === 0) group.append(svg('text.axis', { x: Math.min(x + room / 2, width - 18), y: height - 6 }, name));
		drawing.append(group);
	});
	return drawing;
}

/** The same in a table, for those who can't see it or want the numbers. */
export function numbers(caption, columns, rows) {
	return element('details', element('summary', 'As a table'),
		table(caption, columns, element('tbody', ...rows.map((row) => element('tr', ...row.map((cell) => element('td', String(cell))))))));
}
