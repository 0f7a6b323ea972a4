// What the page of a conversation makes of events that come while it reads.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Conversation } from '../web/assets/conversation.js';
import { Talk } from '../web/assets/talk.js';

const at = '2026-01-01T00:00:00.000Z';
const said = (seq) => ({ seq, kind: 'message', id: `m${seq}`, version: seq, status: 'answered', text: `text ${seq}`, at });
const reply = (status) => ({ seq: 3, kind: 'reply', id: 'c/1', turn: 1, text: 'yes', covers: ['m1'], status, at });
const sent = { type: 'reply.sent', reply_id: 'c/1', turn: 1, seq: 3, part: 1, parts: 1, covers: ['m1'], at };

/** A page without a document; read(answer) and read(error) end the oldest reading of the transcript. */
function page() {
	const asked = [];
	const talk = Object.assign(Object.create(Talk.prototype), {
		early: [], reads: 0, live: [], stored: [], shown: 0, model: new Conversation(() => {}),
		api: { transcript: () => new Promise((resolve, reject) => asked.push({ resolve, reject })) },
		frame: { trouble() {} },
		readState: async () => {}, refresh() {}, render() { this.shown++; },
	});
	const rest = () => new Promise((done) => setTimeout(done));
	return {
		talk, rest,
		async read(answer) {
			const { resolve, reject } = asked.shift();
			if (answer instanceof Error) reject(answer);
			else resolve({ entries: answer });
			await rest();
		},
	};
}

const states = ({ model }) => model.entries.filter(({ type }) => type === 'reply').map(({ state }) => state);
const ids = ({ model }) => model.entries.map(({ id }) => id);

test('two reads at once: the later one is older than an event between them', async () => {
	const { talk, read } = page();
	talk.readAll();
	await read([said(1), reply('committed')]);
	talk.acted('resend');
	talk.acted('resend');
	await read([said(1), reply('committed')]);
	talk.apply(sent);
	await read([said(1), reply('committed')]);
	assert.deepEqual(states(talk), ['sent']);
});

test('a first read that fails leaves events for the next', async () => {
	const { talk, read, rest } = page();
	talk.readAll().catch(() => {});
	talk.apply({ type: 'message.accepted', message_id: 'm2', seq: 2, version: 2, text: 'text 2', at });
	await read(new Error('503'));
	talk.readAll();
	await read([said(1), said(2)]);
	await rest();
	assert.deepEqual(ids(talk), ['m1', 'm2']);
});

test('a later read that fails holds nothing back', async () => {
	const { talk, read } = page();
	talk.readAll();
	await read([said(1), reply('committed')]);
	talk.acted('resend');
	talk.apply(sent);
	await read(new Error('503'));
	assert.deepEqual(states(talk), ['sent']);
});

test('an action while the stream is away, or goes away, says nothing of it', async () => {
	const { talk, read } = page();
	talk.readAll();
	await read([said(1)]);
	talk.lost();
	talk.acted('pause');
	talk.readAll(); // it is back
	await read([said(1)]);
	await read([said(1)]);
	assert.equal(talk.model.connected, true);
	talk.acted('resume');
	talk.lost();
	await read([said(1)]);
	assert.equal(talk.model.connected, false);
});

test('an older answer does not replace a newer one', async () => {
	const waiting = [];
	const shown = [];
	const talk = Object.assign(Object.create(Talk.prototype), {
		exists: true, asked: 0, answered: 0, live: [], stored: [], model: {},
		api: { state: () => new Promise((answer) => waiting.push(answer)), timeline: async () => null, audit: async () => [] },
		renderAudit() {}, render() { shown.push(this.state.version); },
	});
	const older = talk.readState();
	const newer = talk.readState();
	waiting[1]({ version: 2 });
	await newer;
	waiting[0]({ version: 1 });
	await older;
	assert.deepEqual(shown, [2]);
});
