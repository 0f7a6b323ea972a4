// The numbers of the overview.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { niceTop } from '../web/assets/charts.js';
import { buckets, quantile, savings } from '../web/assets/savings.js';

test('what was saved counts against one call for each message and repeat', () => {
	const got = savings({ inputs: 100, duplicates: 10, replies: 30, messages_answered: 95, discards: 8, model_calls: 40, replaced: 6, tokens_discarded: 800 });
	assert.deepEqual(got, { coalesced: 65, repeats: 10, stale: 8, naive: 110, calls: 40, plain: 34, saved: 70, wasted: 800, each: 100, tokens: 7000 });
});

test('more calls than messages save nothing', () => {
	assert.equal(savings({ inputs: 1, model_calls: 3 }).saved, 0);
	assert.equal(savings({}).saved, 0);
});

const histogram = { bounds: [1, 2, 5], counts: [10, 30, 40], count: 41 };

test('buckets are what cumulative counts add', () => {
	assert.deepEqual(buckets(histogram).map(({ count }) => count), [10, 20, 10, 1]);
});

test('quantiles lie between the bounds', () => {
	assert.equal(quantile(histogram, 0.5), 1 + 10.5 / 20);
	assert.equal(quantile(histogram, 1), 5);
	assert.equal(quantile({}, 0.5), null);
});

test('the axis ends at a round number', () => {
	assert.deepEqual([0, 1, 3, 7, 35, 100, 101].map(niceTop), [1, 1, 5, 10, 50, 100, 200]);
});
