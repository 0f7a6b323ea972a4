// The calls to the HTTP API. Each resolves to the JSON answer or throws a
// Trouble that says what to do next.

const timeout = 15_000;

/** Why a call did not work. Again says whether repeating it can help. */
export class Trouble extends Error {
	constructor(status, message, again) {
		super(message);
		this.status = status;
		this.again = again;
	}
}

/** The API as seen by one conversation of one bot. */
export class API {
	constructor(bot, conversation) {
		// A browser takes such names out of a path, so they are in the query.
		this.name = /^\.\.?$/.test(conversation) && conversation;
		this.base = `/v1/bots/${encodeURIComponent(bot)}/conversations/${this.name ? '-' : encodeURIComponent(conversation)}`;
		this.events = this.at('/events');
	}

	at(path, parameters) {
		const search = query({ conversation: this.name, ...parameters });
		return this.base + path + (search && `?${search}`);
	}

	/** The last of the transcript, or the last before a seq; next is the seq to go on before. */
	async transcript(before = 'end') {
		return await found(call('GET', this.at('/transcript', { before, limit: 200 }))) ?? { entries: [] };
	}

	/** The conversation's state, null where nothing was ever received. */
	state() {
		return found(call('GET', this.at('')));
	}

	/** The last turns, or only one, as they went; null where nothing was ever received. */
	timeline({ turn, turns = 20 } = {}) {
		return found(call('GET', this.at('/timeline', turn ? { turn } : { turns })));
	}

	async audit(limit = 50) {
		return (await found(call('GET', this.at('/audit', { limit }))))?.entries ?? [];
	}

	/** An action of a person: its path, and the body if it has one. */
	act(path, body) {
		return call('POST', this.at(`/${path}`), body);
	}

	forget() {
		return call('DELETE', this.at(''));
	}
}

/** What is not about one conversation. */
export const server = {
	events: '/v1/events',
	overview: () => call('GET', '/v1/overview'),
	attention: ({ limit = 100, cursor }) => call('GET', `/v1/attention?${query({ limit, cursor })}`),
	conversations: ({ bot, ...rest }) => call('GET', `/v1/${bot ? `bots/${encodeURIComponent(bot)}/` : ''}conversations?${query({ preview: true, ...rest })}`),

	/** Whether a key is asked for, whether one was given, and what that one opens. */
	async session() {
		const session = await call('GET', '/console/session');
		token = session.csrf ?? '';
		if (!session.required || session.signed_in) key = await call('GET', '/v1/whoami');
		return session;
	},
	login: (key) => call('POST', '/console/login', { key }),
	logout: () => call('POST', '/console/logout'),
};

let skew = 0; // how far this clock is ahead of the server's

/** The server's time in milliseconds, to a second or two. */
export const serverNow = () => Date.now() - skew;

let key = { can: [], all_bots: false }; // that this page has

/** Whether the page's key has a right: read, write, operate, seal or admin. */
export const may = (right) => key.can.includes(right);

/** Whether it is good for all bots; what sums them up is closed to others. */
export const seesAll = () => key.all_bots && may('read');

let token = ''; // shows that a call comes from this page, and not from another that rides on its session

const query = (parameters) => new URLSearchParams(Object.entries(parameters).filter(([, value]) => value)).toString();

export async function found(answer) {
	try {
		return await answer;
	} catch (trouble) {
		if (trouble.status === 404) return null;
		throw trouble;
	}
}

export async function call(method, url, body) {
	let response;
	try {
		response = await fetch(url, {
			method,
			headers: { ...(body && { 'Content-Type': 'application/json' }), ...(token && { 'X-CSRF-Token': token }) },
			body: body && JSON.stringify(body),
			signal: AbortSignal.timeout(timeout),
		});
	} catch ({ name }) {
		if (name !== 'TimeoutError') throw new Trouble(0, 'The server did not answer.', true);
		throw new Trouble(408, 'No answer came within 15 s: the server is busy, or other tabs hold all connections.', true);
	}
	const ahead = Date.now() - Date.parse(response.headers.get('Date'));
	if (ahead) skew = Math.abs(ahead) > 2000 ? ahead : 0; // it is told in whole seconds
	if (!response.ok) throw await explain(response);
	return response.status === 204 ? null : response.json();
}

/** Makes a Trouble of a problem document (RFC 9457). */
async function explain(response) {
	const problem = await response.json().catch(() => ({}));
	const said = problem.detail || problem.title || `The server answered ${response.status}.`;
	const again = response.status === 429 || response.status >= 500;
	return new Trouble(response.status, said, again);
}
