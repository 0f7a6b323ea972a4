// The re-enacted design fails as the original did, and only so.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Origin, ours } from '../web/assets/origin.js';
import { milliseconds } from '../web/assets/beside.js';

/** A clock that only the test moves. */
function clockwork() {
	let [now, timers] = [0, []];
	return {
		now: () => now,
		after(time, what) {
			const timer = { at: now + time, what };
			timers.push(timer);
			return () => { timers = timers.filter((one) => one !== timer); };
		},
		to(time) {
			for (;;) {
				const next = timers.filter(({ at }) => at <= time).sort((a, b) => a.at - b.at)[0];
				if (!next) break;
				timers = timers.filter((one) => one !== next);
				now = next.at;
				next.what();
			}
			now = time;
		},
	};
}

function play(delay, ...messages) {
	const clock = clockwork();
	const origin = new Origin(() => ({ debounce: 1500, delay }), clock);
	for (const [at, id] of messages) {
		clock.to(at);
		origin.receive(id, id);
	}
	clock.to(60_000);
	return origin;
}

test('two fast messages get one reply: that worked', () => {
	assert.deepEqual(play(2000, [0, 'm1'], [800, 'm2']).count(), { replies: 1, calls: 1, lost: 0, twice: 0, stale: 0 });
});

test('each message restarts the quiet time, without end', () => {
	const many = Array.from({ length: 40 }, (_, index) => [index * 1000, `m${index}`]);
	assert.equal(play(2000, ...many).runs[0].at, 39_000 + 1500);
});

test('a third one while the model writes starts a second answer to the same', () => {
	const origin = play(6000, [0, 'm1'], [500, 'm2'], [3000, 'm3']);
	assert.deepEqual(origin.count(), { replies: 2, calls: 2, lost: 0, twice: 2, stale: 1 });
	assert.deepEqual(origin.replies[1].covers.map(({ id }) => id), ['m1', 'm2', 'm3']);
});

test('the end of the turn takes the timer of the third one with it', () => {
	const origin = play(2000, [0, 'm1'], [500, 'm2'], [3000, 'm3']);
	assert.deepEqual(origin.count(), { replies: 1, calls: 1, lost: 1, twice: 0, stale: 1 });
	assert.deepEqual(origin.lost().map(({ id }) => id), ['m3']);
});

test('the conversation beside it is counted in the same way', () => {
	const reply = (covers, late) => ({ type: 'reply', state: 'sent', covers, late });
	const message = (id, state) => ({ type: 'message', id, state });
	const entries = [message('m1', 'answered'), message('m2', 'waiting'), reply(['m1']), reply(['m1'], true)];
	const steps = [{ type: 'turn.started' }, { type: 'turn.started' }, { type: 'reply.sent' }];
	assert.deepEqual(ours({ entries, steps, phase: 'idle' }), { replies: 2, calls: 2, lost: 1, twice: 1, stale: 1 });
	assert.equal(ours({ entries, steps, phase: 'collecting' }).lost, 0);
});

test('durations are read as Go writes them', () => {
	assert.deepEqual(['1.5s', '500ms', '1m1.5s', '0s', '1h'].map(milliseconds), [1500, 500, 61_500, 0, 3_600_000]);
});
