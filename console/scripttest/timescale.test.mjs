// From time to place and back.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fitting, tickStep, timescale } from '../web/assets/timescale.js';

test('busy times are to scale, and a long rest is left out', () => {
	const scale = timescale([[0, 1000], [500, 3000], [3_600_000, 3_601_000]], 100);
	assert.equal(scale.parts.length, 2);
	assert.equal(scale.x(2000) - scale.x(1000), 100);
	assert.ok(scale.x(3_600_000) - scale.x(3000) < 200);
	assert.equal(scale.parts[1].pause, 3_597_000);
});

test('a place is the place of its time', () => {
	const scale = timescale([[0, 4000], [60_000, 61_000]], 250);
	for (const time of [0, 1234, 4000, 60_500]) assert.ok(Math.abs(scale.time(scale.x(time)) - time) < 0.001);
});

test('what fits, fits', () => {
	const spans = [[0, 4000], [60_000, 61_000]];
	assert.ok(Math.abs(timescale(spans, ...fitting(spans, 700)).width - 700) <= 1);
});

test('whatever the turn was, it can be fitted in', () => {
	const often = Array.from({ length: 50 }, (_, index) => [index * 60_000, index * 60_000 + 500]);
	for (const spans of [often, [[0, 7_200_000]], [[0, 40_000], [3_600_000, 3_600_000]]]) {
		assert.ok(timescale(spans, ...fitting(spans, 700)).width <= 701);
	}
});

test('marks on the axis keep their distance', () => {
	for (const perSecond of [2, 84, 900, 20_000]) assert.ok((tickStep(perSecond) / 1000) * perSecond >= 74);
});

test('nothing has no parts', () => {
	const scale = timescale([]);
	assert.deepEqual([scale.parts.length, scale.x(5), scale.time(5)], [0, 8, 0]);
});
