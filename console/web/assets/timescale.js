// From time to place. Busy times are drawn to scale; between them the drawing
// leaves out what nobody needs to see, and says how long that was.

const perSecond = 84; // pixels
const longestRest = 1_200; // milliseconds that are still drawn to scale
const before = 250;
const after = 700;
const gap = 46;
const margin = 8;

/**
 * Makes a scale for spans of [start, end] in milliseconds. Its parts are the
 * busy times, each with the place of its start and the pause before it.
 */
export function timescale(spans) {
  const parts = [];
  let place = margin;
  for (const [start, end] of merge(spans)) {
    const last = parts.at(-1);
    const from = start - before;
    const to = end + after;
    const left = last ? place + gap : place;
    parts.push({ start, from, to, left, pause: last ? start - last.end : 0, end });
    place = left + width(to - from);
  }
  return { parts, width: Math.ceil(place + margin), x: (time) => placeOf(parts, time) };
}

const width = (milliseconds) => (milliseconds / 1000) * perSecond;

function merge(spans) {
  const merged = [];
  for (const [start, end] of spans.toSorted((a, b) => a[0] - b[0])) {
    const last = merged.at(-1);
    if (last && start - last[1] <= before + after + longestRest) last[1] = Math.max(last[1], end);
    else merged.push([start, Math.max(start, end)]);
  }
  return merged;
}

function placeOf(parts, time) {
  const part = parts.findLast((one) => one.from <= time) ?? parts[0];
  if (!part) return margin;
  return part.left + width(Math.min(Math.max(time, part.from), part.to) - part.from);
}
