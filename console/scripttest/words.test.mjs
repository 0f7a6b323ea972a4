// Reasons, times and numbers in words.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { because, seconds } from '../web/assets/words.js';

test('a code is put in words, and what people wrote stays', () => {
	assert.equal(because('outage'), 'the model could not be reached');
	for (const text of ['toString', 'constructor', '__proto__', 'my_own reason', '']) assert.equal(because(text), text);
	assert.equal(because(undefined), '');
});

test('long times are not told in seconds', () => {
	assert.deepEqual([40, 1500, 99_000, 3_600_000].map(seconds), ['40 ms', '1.5 s', '99.0 s', '60 min']);
});
