// What needs no document of what the pages are made of.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { throttled } from '../web/assets/dom.js';

const turnOfTheLoop = () => new Promise((done) => setImmediate(done));

test('what is throttled never runs beside itself, and once more where it was asked for meanwhile', async (t) => {
	t.mock.timers.enable({ apis: ['setTimeout'] });
	const running = [];
	let runs = 0;
	const ask = throttled(() => new Promise((end) => {
		runs++;
		running.push(end);
	}), 100);
	ask();
	ask();
	t.mock.timers.tick(1000); // the pause is long over, but the first has not ended
	await turnOfTheLoop();
	ask();
	assert.equal(runs, 1);
	running.shift()();
	await turnOfTheLoop();
	assert.equal(runs, 2);
	running.shift()();
	await turnOfTheLoop();
	assert.equal(runs, 2); // in the pause
	t.mock.timers.tick(100);
	await turnOfTheLoop();
	assert.equal(runs, 2); // nobody asked again
	ask();
	assert.equal(runs, 3);
	ask();
	ask.stop();
	running.shift()();
	t.mock.timers.tick(100);
	await turnOfTheLoop();
	assert.equal(runs, 3);
});
