// The calls of a page that writes: messages, and the demo's settings.

import { API, call, found } from './api.js';

/** A new id of random letters and digits. */
export function newId(prefix, length = 10) {
	const letters = 'abcdefghijkmnpqrstuvwxyz23456789';
	const random = crypto.getRandomValues(new Uint8Array(length));
	return prefix + Array.from(random, (byte) => letters[byte % letters.length]).join('');
}

/** The API as seen by who writes in one conversation. */
export class OwnAPI extends API {
	/** The whole transcript; empty where nothing was ever received. */
	async whole() {
		const all = [];
		for (let after = 0; ;) {
			const page = await found(call('GET', this.at('/transcript', { after, limit: 200 })));
			all.push(...(page?.entries ?? []));
			if (!page?.next) return all;
			after = page.next;
		}
	}

	/** Sends a message; the same id again is recognised as a repeat. */
	send({ id, text, sentAt }) {
		return call('POST', this.at('/messages'), { id, text, sent_at: sentAt });
	}

	edit(id, text) {
		return call('PATCH', this.at(`/messages/${encodeURIComponent(id)}`), { text });
	}

	remove(id) {
		return call('DELETE', this.at(`/messages/${encodeURIComponent(id)}`));
	}

	/** Throws where the server, the bot or the permission is missing. */
	probe() {
		return call('GET', `${this.base.slice(0, this.base.lastIndexOf('/'))}?limit=1`);
	}
}

/** The demo's settings; null where this is no demo. */
export const settings = () => found(call('GET', '/demo/settings'));

export const set = (settings) => call('PUT', '/demo/settings', settings);
