// What the drawing and the sentences are made of, from steps as the API gives
// them. Each test takes one thing that a person looks at a timeline for.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { explain, join, read, stepsOf, summary, turnOf, types } from '../web/assets/lanes.js';

const zero = Date.parse('2026-01-31T12:00:00.000Z');
const time = (after) => new Date(zero + after).toISOString();

/** Steps of turn 3, each as [milliseconds, type, fields]. */
const steps = (...list) => list.map(([after, type, fields = {}]) => {
	const step = { type, at: time(after), turn: 3, ...fields };
	if (typeof step.due_at === 'number') step.due_at = time(step.due_at);
	if (typeof step.first_byte_at === 'number') step.first_byte_at = time(step.first_byte_at);
	return step;
});

const input = (after, version, more) => [after, 'message.accepted', { message_id: `m${version}`, version, ...more }];
const scheduled = (after, version, due, more) => [after, 'turn.scheduled', { version, due_at: due, ...more }];
const started = (after, token, attempt, through, node = 'node-1') => [after, 'turn.started', { token, attempt, through, version: through, node }];
const tell = (story, item) => explain(item, story, zero + 60_000);

// Five inputs, one repeat, a discard, and a take-over after a crash.
const busyTurn = steps(
	input(0, 1), scheduled(0, 1, 1500),
	input(300, 2), scheduled(300, 2, 1800),
	[500, 'message.repeated', { message_id: 'm2', version: 2 }],
	input(900, 3), scheduled(900, 3, 2400),
	started(2400, 17, 1, 3),
	input(3000, 4),
	[3010, 'reply.discarded', { token: 17, attempt: 1, through: 3, version: 4, reason: 'superseded' }],
	scheduled(3010, 4, 4500),
	input(3500, 5, { message_id: 'm1', reason: 'edited' }), scheduled(3500, 5, 5000),
	started(5000, 18, 2, 5),
	[35000, 'reply.discarded', { token: 18, attempt: 2, through: 5, version: 5, reason: 'worker_lost' }],
	started(35000, 19, 3, 5, 'node-2'),
	[36500, 'reply.committed', { token: 19, attempt: 3, through: 5, version: 5, parts: 1, reply_id: 'c/3', first_byte_at: 35400 }],
	[36700, 'reply.sent', { token: 19, attempt: 3, through: 5, version: 5, part: 1, parts: 1, reply_id: 'c/3' }],
);

test('inputs are messages, edits and repeats', () => {
	const story = read(busyTurn);
	assert.deepEqual(story.inputs.map(({ kind, version }) => [kind, version]), [['message', 1], ['message', 2], ['repeat', 2], ['message', 3], ['message', 4], ['edit', 5]]);
	assert.match(tell(story, story.inputs[2]), /Message 2 was delivered again/);
	assert.match(tell(story, story.inputs[4]), /while attempt 1 ran, which had seen only up to 3/);
	assert.match(tell(story, story.inputs[1]), /The window now ends in 1\.5 s/);
});

test('the window grows with each input', () => {
	const story = read(busyTurn);
	assert.equal(story.windows.length, 2);
	assert.deepEqual(story.windows[0].moves.map(({ due }) => due - zero), [1500, 1800, 2400]);
	assert.deepEqual([story.windows[0].at - zero, story.windows[0].end - zero, story.windows[0].capped], [0, 2400, false]);
	assert.match(tell(story, story.windows[0]), /lasted 2\.4 s; newer input moved its end 2 times/);
});

test('an early attempt leaves the window open, and newer input replaces it', () => {
	const early = (after, token, attempt, through) => { const [at, type, fields] = started(after, token, attempt, through); return [at, type, { ...fields, early: true }]; };
	const story = read(steps(
		input(0, 1), scheduled(0, 1, 1500), early(0, 17, 1, 1),
		input(600, 2), [600, 'reply.discarded', { token: 17, attempt: 1, through: 1, version: 2, reason: 'replaced' }], scheduled(600, 2, 2100), early(600, 18, 2, 2),
		[2600, 'reply.committed', { token: 18, attempt: 2, through: 2, version: 2, parts: 1, reply_id: 'c/3' }],
	));
	assert.deepEqual(story.windows.map(({ at, end }) => [at - zero, end - zero]), [[0, 2100]]);
	assert.deepEqual(story.attempts.map(({ result }) => result), ['discarded', 'committed']);
	assert.match(story.rows[2].text, /Attempt 1 starts early on node-1/);
	assert.match(tell(story, story.attempts[0]), /newer input came within the quiet time/);
});

test('the hard cap is told', () => {
	const story = read(steps(input(0, 1), scheduled(0, 1, 1500), input(1400, 2), scheduled(1400, 2, 2000, { reason: 'max_wait' })));
	assert.equal(story.windows[0].capped, true);
	assert.match(tell(story, story.windows[0]), /hard cap/);
	assert.match(story.rows.at(-1).text, /reached its hard cap: it ends in 0\.6 s/);
});

test('an attempt says what it saw, and what was newest', () => {
	const story = read(busyTurn);
	assert.deepEqual(story.attempts.map(({ result }) => result), ['discarded', 'lost', 'committed']);
	assert.match(tell(story, story.attempts[0]), /it saw 3, newest was 4/);
	assert.match(tell(story, story.attempts[1]), /lost after 30\.0 s: its worker went away/);
	assert.match(tell(story, story.attempts[2]), /first words after 0\.4 s/);
});

test('a lease is a bar for each holder, and a lost one is cut', () => {
	const { leases } = read(busyTurn);
	assert.deepEqual(leases.map(({ token, holder, lost, end }) => [token, holder, Boolean(lost), end - zero]), [
		[17, 'node-1', false, 3010], [18, 'node-1', true, 35000], [19, 'node-2', false, 36700],
	]);
});

test('a commit has both versions', () => {
	const story = read(busyTurn);
	assert.deepEqual(story.commits.map(({ passed, through, version }) => [passed, through, version]), [[false, 3, 4], [true, 5, 5]]);
	assert.match(tell(story, story.commits[0]), /Nothing was committed: the attempt had seen 3, but the newest input was 4/);
	assert.match(tell(story, story.commits[1]), /Its check passed: it had seen 5, and the newest was 5/);
});

test('nothing is under way when the reply was sent', () => {
	const story = read(busyTurn);
	assert.equal(story.busy(), false);
	assert.equal(summary(story), '5 inputs, 1 repeat, 3 attempts, 1 discarded, 1 reply sent');
});

test('each step is one sentence, in order', () => {
	const story = read(busyTurn);
	assert.deepEqual(story.rows.map(({ step }) => step), busyTurn);
	for (const { text } of story.rows) assert.match(text, /^[A-Z].*\.$/);
});

test('that nobody knows is said once', () => {
	const { rows } = read(steps([0, 'part.unknown', { token: 20, reply_id: 'c/3', reason: 'nobody knows whether it arrived: EOF' }]));
	assert.equal(rows[0].text, 'Nobody knows whether the reply arrived: EOF.');
});

test('parts and their tries are sends of their own', () => {
	const part = { token: 20, parts: 2, reply_id: 'c/3', version: 1, through: 1 };
	const story = read(steps(
		started(0, 20, 1, 1), [1000, 'reply.committed', { ...part }],
		[1100, 'part.sent', { ...part, part: 1 }],
		[1300, 'part.failed', { ...part, part: 2, due_at: 2300, reason: 'the receiver answered 503' }],
		[2500, 'part.unknown', { ...part, part: 2, token: 21, due_at: 3500 }],
		[3600, 'reply.sent', { ...part, part: 2, token: 22 }],
	));
	assert.deepEqual(story.sends.map(({ part: number, try: tries, outcome }) => [number, tries, outcome]), [[1, 1, 'sent'], [2, 1, 'failed'], [2, 2, 'unknown'], [2, 3, 'sent']]);
	assert.match(tell(story, story.sends[1]), /Part 2 of 2 was refused after 0\.2 s: the receiver answered 503/);
	assert.match(tell(story, story.sends[2]), /Nobody knows whether part 2 of 2, try 2, arrived/);
	assert.deepEqual(story.leases.map(({ token }) => token), [20, 21, 22]);
	assert.equal(story.busy(), false);
});

test('a failed attempt says when it is tried again', () => {
	const story = read(steps(
		started(0, 5, 1, 1),
		[700, 'attempt.failed', { token: 5, reason: 'outage', due_at: 1700 }],
		[700, 'turn.scheduled', { version: 1, due_at: 1700 }], started(1700, 6, 2, 1),
		[2000, 'turn.failed', { token: 6, reason: 'the model refused the request' }],
	));
	assert.deepEqual(story.attempts.map(({ result }) => result), ['failed', 'failed']);
	assert.match(story.rows[1].text, /could not be reached\. The next try is in 1\.0 s/);
	assert.equal(story.windows[0].kind, 'wait');
	assert.equal(story.marks.length, 1);
});

test('a reply that was overtaken before anybody saw it is withdrawn', () => {
	const reply = { token: 8, parts: 1, reply_id: 'c/3', through: 1 };
	const story = read(steps(
		started(0, 8, 1, 1), [900, 'reply.committed', { ...reply, version: 1 }],
		[1000, 'part.failed', { ...reply, part: 1, version: 1, due_at: 2000 }], input(1500, 2),
		[2000, 'reply.discarded', { ...reply, version: 2, reason: 'withdrawn' }], scheduled(2000, 2, 3000),
	));
	assert.deepEqual(story.sends.map(({ outcome }) => outcome), ['failed', 'withdrawn']);
	assert.equal(story.attempts[0].result, 'committed');
});

test('the end of a reply whose last try was told is no other try', () => {
	const reply = { token: 8, parts: 1, reply_id: 'c/3', through: 1, version: 1 };
	const story = read(steps(
		started(0, 8, 1, 1), [900, 'reply.committed', reply],
		[1000, 'part.unknown', { ...reply, part: 1, reason: 'no answer' }], [1000, 'reply.failed', { ...reply, part: 0, reason: 'unknown_outcome' }],
		[5000, 'reply.resent', reply], [5200, 'reply.sent', { ...reply, token: 9, part: 1 }],
	));
	assert.deepEqual(story.sends.map(({ outcome }) => outcome), ['unknown', 'sent']);
	assert.match(story.rows[3].text, /a person decides/);
});

test('a lost holder of a send leaves an unknown one', () => {
	const reply = { parts: 1, reply_id: 'c/3', through: 1, version: 1 };
	const story = read(steps(
		started(0, 8, 1, 1), [900, 'reply.committed', { ...reply, token: 8 }],
		[31000, 'lease.lost', { token: 8, node: 'node-1' }],
		[31500, 'reply.sent', { ...reply, token: 9, node: 'node-2', part: 1 }],
	));
	assert.deepEqual(story.sends.map(({ outcome }) => outcome), ['unknown', 'sent']);
	assert.deepEqual(story.leases.map(({ token, lost }) => [token, Boolean(lost)]), [[8, true], [9, false]]);
});

test('people are marks of their own', () => {
	const story = read(steps(
		[0, 'conversation.paused', { reason: 'Bob is on it' }],
		[500, 'reply.committed', { reason: 'human', parts: 1, reply_id: 'c/4', version: 1, through: 1 }],
		[600, 'reply.sent', { token: 3, parts: 1, part: 1, reply_id: 'c/4', version: 1, through: 1 }],
		[700, 'conversation.resumed'], [800, 'turn.requeued'], [900, 'reply.marked', { reply_id: 'c/3' }],
	));
	assert.deepEqual(story.marks.map(({ text }) => text.split(/[:. ]/)[0]), ['Paused', 'Resumed', 'Requeued', 'A']);
	assert.match(tell(story, story.commits[0]), /A person’s reply needs no check/);
});

test('an input that opens a turn belongs to it', () => {
	const story = read([
		{ type: 'message.accepted', at: time(0), turn: 2, version: 4, message_id: 'm4' },
		{ type: 'turn.scheduled', at: time(0), turn: 3, version: 4, due_at: time(1500) },
	]);
	assert.equal(story.inputs[0].turn, 3);
});

test('steps that are stored and streamed are taken once', () => {
	const live = busyTurn.slice(4).map((step, index) => ({ ...step, id: `X-${index}`, text: 'secret' }));
	const delta = { type: 'reply.delta', at: time(35400), turn: 3, token: 19 };
	const all = join(busyTurn.slice(0, 8), [...live, delta, { ...delta, at: time(35500) }]);
	assert.equal(all.length, busyTurn.length + 1);
	assert.deepEqual(all.map(({ at }) => at), all.map(({ at }) => at).toSorted());
});

test('a type that is not known is left out, not fatal', () => {
	assert.equal(read(steps([0, 'something.new'])).rows.length, 0);
});

test('steps that are not kept are told, and nothing opens after them', () => {
	const story = read(stepsOf({ turn: 3, lost: 288, steps: steps(input(0, 145), scheduled(0, 145, 1500), input(300, 146), scheduled(300, 146, 1800), started(1800, 9, 1, 146)) }));
	assert.match(story.rows[0].text, /^288 earlier steps of this turn are not kept/);
	assert.equal(story.marks.length, 1);
	for (const { text } of story.rows) assert.doesNotMatch(text, /opens/);
	assert.match(summary(story), /^inputs 145 to 146, 288 earlier steps not kept/);
	assert.match(tell(story, story.windows[0]), /lasted at least 1\.8 s/);
	const whole = steps(input(0, 1));
	assert.equal(stepsOf({ turn: 3, lost: 0, steps: whole }), whole);
});

test('an input that came too late for the reply is of the next turn', () => {
	const late = [
		...steps(input(0, 1), scheduled(0, 1, 1500), started(1500, 7, 1, 1), input(1800, 2), [2500, 'reply.committed', { token: 7, through: 1, version: 2, parts: 1, reply_id: 'c/3', late_input: true }]),
		...steps([2600, 'reply.sent', { token: 7, through: 1, version: 2, part: 1, parts: 1, reply_id: 'c/3' }]),
	];
	assert.deepEqual(turnOf(late), [3, 3, 3, 3, 3, 3]);
	late.push({ type: 'turn.scheduled', at: time(2600), turn: 4, version: 2, due_at: time(3300) });
	assert.deepEqual(turnOf(late), [3, 3, 3, 4, 3, 3, 4]);
	const withdrawn = [...late.slice(0, 5), ...steps([2700, 'reply.discarded', { token: 7, version: 2, reply_id: 'c/3', reason: 'withdrawn' }]), late.at(-1)];
	assert.equal(turnOf(withdrawn)[3], 3);
});

test('sentences say nothing twice, and nothing that is not known', () => {
	const human = read(steps([0, 'reply.committed', { reason: 'human', parts: 1, reply_id: 'c/3' }], [10, 'reply.sent', { token: 3, parts: 1, part: 1, reply_id: 'c/3' }]));
	for (const { text } of human.rows) assert.doesNotMatch(text, /undefined/);
	const reply = { token: 8, parts: 1, reply_id: 'c/3', through: 1, version: 1 };
	const unknown = read(steps(started(0, 8, 1, 1), [900, 'reply.committed', reply], [1000, 'part.unknown', { ...reply, part: 1, reason: 'unknown_outcome' }], [1000, 'reply.failed', { ...reply, part: 0, reason: 'unknown_outcome' }]));
	assert.equal(tell(unknown, unknown.sends[0]).match(/obody knows/g).length, 1);
	const rejected = read(steps(started(0, 8, 1, 1), [700, 'reply.discarded', { token: 8, reason: 'rejected' }], [700, 'attempt.failed', { token: 8, reason: 'rejected' }], [700, 'turn.failed', { reason: 'bad_request' }]));
	assert.equal(new Set(rejected.rows.map(({ text }) => text)).size, rejected.rows.length);
	assert.equal(rejected.rows.length, 4);
});

test('a window ends with its turn', () => {
	for (const reason of ['deleted', 'closed']) {
		const story = read(steps(input(0, 1), scheduled(0, 1, 1500), [500, 'turn.ended', { version: 1, reason }]));
		assert.equal(story.windows[0].end - zero, 500);
		assert.equal(story.busy(), false);
		assert.match(story.rows.at(-1).text, /^Turn 3 ended: .*(closed|deleted)/);
	}
	const next = read([...steps(input(0, 1), scheduled(0, 1, 1500)), { type: 'turn.ended', at: time(600), turn: 2, reason: 'sent' }]);
	assert.equal(next.busy(), true); // it was another one that ended
	assert.equal(next.rows.length, 2);
});

test('a person who ends the window is told of', () => {
	const story = read(steps(input(0, 1), scheduled(0, 1, 3_600_000), [500, 'turn.scheduled', { version: 1, due_at: 500 }]));
	assert.match(story.rows[1].text, /opens and ends in 60 min/);
	assert.match(story.rows[2].text, /A person ended the window/);
});

test('a long wait is no busy time, and needs no drawing in every frame', () => {
	const story = read(steps(input(0, 1), scheduled(0, 1, 3_600_000), input(600_000, 2), scheduled(600_000, 2, 3_600_000)));
	const now = zero + 900_000;
	const length = story.spans(now).reduce((sum, [start, end]) => sum + end - start, 0);
	assert.ok(length < 1000, `${length} ms to scale`);
	assert.ok(story.spans(now).some(([start]) => start === now));
	assert.equal(story.quietFor(now), 2_700_000);
	assert.equal(read(busyTurn.slice(0, 4)).spans(zero + 400).some(([start, end]) => end - start >= 1200), true);
	assert.equal(read(busyTurn.slice(0, 8)).quietFor(zero + 2500), 0);
	assert.equal(read(busyTurn).quietFor(zero + 40_000), Infinity);
});

test('the pages listen to each type of event that the API describes', async () => {
	const api = JSON.parse(await readFile(new URL('../../server/openapi.json', import.meta.url)));
	const described = api.components.schemas.Event.properties.type.enum;
	assert.deepEqual(described.filter((type) => ![...types, 'events.lost'].includes(type)), []); // which is about the stream itself
});
