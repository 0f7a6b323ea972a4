// Which rows of the list stay when its first page is read again.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { following } from '../web/assets/list.js';

const row = (number, activity = number) => ({ bot: 'support', conversation: `c${number}`, last_activity_at: new Date(activity * 1000).toISOString() });
const down = (from, to) => Array.from({ length: from - to + 1 }, (_, index) => row(from - index));
const names = (rows) => rows.map(({ conversation }) => conversation);

test('rows that the newer ones pushed off the first page stay', () => {
	const old = down(20, 1);
	assert.deepEqual(names(following(old, [row(23), row(22), row(21), ...down(20, 14)])), names(down(13, 1)));
});

test('a row that came up from below is there once', () => {
	const old = down(20, 1);
	assert.deepEqual(names(following(old, [row(3, 30), ...down(20, 12)])), names([...down(11, 4), row(2), row(1)]));
});

test('rows that are gone from the first page do not stay', () => {
	assert.deepEqual(names(following(down(20, 1), [row(20), row(18), row(17)])), names(down(16, 1)));
});

test('nothing stays where all is newer: what lies between was not read', () => {
	assert.deepEqual(following(down(20, 1), down(60, 40)), []);
	assert.deepEqual(following(down(20, 1), [row(3, 60), row(50)]), []);
	assert.deepEqual(following([], down(3, 1)), []);
	assert.deepEqual(following(down(3, 1), []), []);
});
