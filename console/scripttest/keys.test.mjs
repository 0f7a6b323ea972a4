// What the page offers to the key that it has.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { remedies } from '../web/assets/actions.js';
import { may, seesAll, server } from '../web/assets/api.js';

const everything = { all_bots: true, can: ['read', 'write', 'operate', 'seal', 'admin'] };

/** Signs in with a key that opens this; null: nobody is signed in. */
async function signIn(whoami) {
	const asked = [];
	globalThis.fetch = async (url) => {
		asked.push(url);
		const body = url === '/console/session' ? { required: true, signed_in: Boolean(whoami), csrf: 'x' } : whoami;
		return { ok: true, status: 200, headers: new Headers(), json: async () => body };
	};
	await server.session();
	return asked;
}

/** The actions that are offered for what needs a person. */
function offered(names) {
	globalThis.document = { createElementNS: () => ({ setAttribute() {}, addEventListener() {}, append(label) { this.label = label; } }) };
	return remedies({}, 1, {}, () => {}, names).map(({ label }) => label);
}

test('a key that opens everything is offered everything', async () => {
	await signIn(everything);
	assert.ok(may('admin') && may('operate') && seesAll());
	assert.deepEqual(offered(['requeue', 'resend', 'delete']), ['Requeue', 'Delete', 'Send again']);
});

test('a key is offered what it opens', async () => {
	await signIn({ ...everything, can: ['read', 'operate'] });
	assert.ok(seesAll() && !may('admin'));
	assert.deepEqual(offered(['requeue', 'delete']), ['Requeue']);
	await signIn({ ...everything, can: ['read'] });
	assert.deepEqual(offered(['requeue', 'delete']), []);
});

test('the overview is for who sees all bots', async () => {
	await signIn({ ...everything, all_bots: false });
	assert.ok(!seesAll() && may('read'));
	await signIn({ ...everything, can: ['write'] });
	assert.ok(!seesAll());
});

test('nobody asks what a key opens before there is one', async () => {
	assert.deepEqual(await signIn(null), ['/console/session']);
});
