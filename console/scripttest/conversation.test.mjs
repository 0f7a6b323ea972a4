// What the page knows of a conversation.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Conversation } from '../web/assets/conversation.js';
import { OwnConversation } from '../web/assets/outbox.js';

const message = (id, version) => ({ kind: 'message', id, version, text: `said ${id}`, status: 'pending' });
const sent = (id, covers) => ({ type: 'reply.sent', at: '2026-01-31T12:00:00.000Z', turn: 1, reply_id: id, text: 'the reply', covers });

test('a message whose id is that of a reply is another entry', () => {
	const conversation = new Conversation(() => {});
	conversation.merge([message('c1/1', 1), message('discard/7', 2)]);
	conversation.apply({ type: 'reply.discarded', at: '2026-01-31T12:00:00.000Z', token: 7, through: 1, version: 2 });
	conversation.apply(sent('c1/1', ['c1/1', 'discard/7']));
	assert.deepEqual(conversation.entries.map(({ type, text }) => [type, text]), [
		['message', 'said c1/1'], ['message', 'said discard/7'], ['note', 'A draft was thrown away: it saw 1, the newest was 2.'], ['reply', 'the reply'],
	]);
	assert.deepEqual(conversation.entries.slice(0, 2).map(({ state }) => state), ['answered', 'answered']);
});

test('own messages are counted', () => {
	const conversation = new OwnConversation(() => {});
	conversation.sending('m1', 'hello');
	conversation.apply({ type: 'message.accepted', at: '2026-01-31T12:00:00.000Z', message_id: 'm1', version: 1, text: 'hello' });
	conversation.receipt('m1', { duplicate: true });
	conversation.apply(sent('c1/1', ['m1']));
	assert.deepEqual(conversation.count(), { messages: 1, repeats: 1, discards: 0, replies: 1 });
});
