// From time to place. Busy times are drawn to scale; between them the drawing
// leaves out what nobody needs to see, and says how long that was.

/** Pixels for a second, where nobody zoomed. */
export const usual = 84;

const longestRest = 2_150; // milliseconds that are still drawn to scale
const before = 21; // pixels
const after = 59;
const gap = 46;
const margin = 8;

/**
 * Makes a scale for spans of [start, end] in milliseconds. Its parts are the
 * busy times, each with the place of its start and the pause before it.
 */
export function timescale(spans, perSecond = usual, rest = longestRest) {
	const parts = [];
	let place = margin;
	for (const [start, end] of merge(spans, rest)) {
		const last = parts.at(-1);
		const left = last ? place + gap : place;
		const from = start - (before / perSecond) * 1000;
		const to = end + (after / perSecond) * 1000;
		parts.push({ start, end, from, to, left, pause: last ? start - last.end : 0 });
		place = left + ((to - from) / 1000) * perSecond;
	}
	const x = (time) => {
		const part = parts.findLast((one) => one.from <= time) ?? parts[0];
		if (!part) return margin;
		return part.left + ((Math.min(Math.max(time, part.from), part.to) - part.from) / 1000) * perSecond;
	};
	const time = (place) => {
		const part = parts.findLast((one) => one.left <= place) ?? parts[0];
		return part ? Math.min(part.from + ((place - part.left) / perSecond) * 1000, part.to) : 0;
	};
	return { parts, perSecond, width: Math.ceil(place + margin), x, time };
}

/** The pixels of a second, and the longest rest to scale, with which everything fits into that width. */
export function fitting(spans, width, rest = longestRest) {
	const busy = merge(spans, rest);
	const fixed = 2 * margin + busy.length * (before + after) + Math.max(0, busy.length - 1) * gap;
	if (busy.length > 1 && fixed > width * 0.7) return fitting(spans, width, rest * 2);
	const length = busy.reduce((sum, [start, end]) => sum + end - start, 0);
	return [Math.max(20, width - fixed) / (Math.max(length, 1) / 1000), rest];
}

/** A distance of marks in milliseconds that leaves at least so many pixels between two. */
export function tickStep(perSecond, room = 74) {
	const wanted = (room / perSecond) * 1000;
	const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 3e4, 6e4, 3e5, 6e5, 36e5];
	return steps.find((step) => step >= wanted) ?? steps.at(-1);
}

function merge(spans, rest) {
	const merged = [];
	for (const [start, end] of [...spans].sort((a, b) => a[0] - b[0])) {
		const last = merged.at(-1);
		if (last && start - last[1] <= rest) last[1] = Math.max(last[1], end);
		else merged.push([start, Math.max(start, end)]);
	}
	return merged;
}
