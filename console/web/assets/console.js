// The console's frame: who is signed in, which page the address names, and
// whether the server is there. Each page is a module with one function that
// fills the frame and returns what to call when the person leaves it.

import { seesAll, server } from './api.js';
import { attention } from './attention.js';
import { button, byId, element, setText, throttled } from './dom.js';
import { watch } from './events.js';
import { list } from './list.js';
import { login } from './login.js';
import { overview } from './overview.js';
import { talk } from './talk.js';

const pages = { overview, conversations: list, attention, login, c: talk };
const slow = 30_000; // between looks at what changes without an event

let session = { required: false, signed_in: true };
let leave = () => {};
let wanted = ''; // the page to go on with after the login
let shown = 0; // pages so far; what a left one still does is dropped

/** What pages may ask of the frame. */
const frame = {
	say: (text) => setText(byId('said'), text),
	title: (text) => { document.title = `${text} · onereply`; },
	go: (hash) => { location.hash = hash; },

	/** Changes the address without a new page. */
	replace: (hash) => history.replaceState(null, '', hash),

	/** Shows a Trouble, and what to do; nothing clears it. */
	trouble(problem) {
		if (problem?.status === 401) return void askForKey();
		const text = !problem ? '' : problem.status === 0
			? 'The server can’t be reached. This page goes on by itself once it is back; if you stopped the server, start it again.'
			: `${problem.message}${problem.again ? ' This page tries again by itself.' : ''}`;
		setText(byId('trouble'), text);
		byId('trouble').hidden = !text;
	},

	/** Follows a stream as long as the page is shown; after a break, caughtUp reads what it missed. */
	watch(url, { caughtUp, event, lost = () => {} }) {
		const mine = shown;
		let timer;
		async function catchUp() {
			clearTimeout(timer);
			try {
				await caughtUp();
				if (mine !== shown) return;
				frame.trouble(null);
				connection('live');
			} catch (problem) {
				if (mine !== shown) return;
				frame.trouble(problem);
				if (problem.again) timer = setTimeout(catchUp, 2000);
			}
		}
		const stop = watch(url, {
			connected: catchUp,
			disconnected(why) {
				clearTimeout(timer);
				connection(why === 'hidden' ? 'connecting' : 'lost');
				lost();
				if (why === 'hidden') return;
				server.session().then((now) => {
					if (now.required && !now.signed_in) askForKey();
					else if (why && mine === shown) frame.trouble({ message: 'The server opens no event stream: it may have as many as it allows. Close other consoles.', again: true });
				}, frame.trouble);
			},
			event,
		});
		return () => {
			clearTimeout(timer);
			stop();
		};
	},

	/** Has a page look now, after events of types that concern it, and now and then. */
	keepLooking(look, resting, concerns) {
		const again = throttled(() => look().catch(frame.trouble), 1500);
		const leave = frame.watch(server.events, { caughtUp: look, event: ({ type }) => concerns(type) && again() });
		const timer = setInterval(() => document.hidden || again(), resting);
		return {
			again,
			stop() {
				leave();
				again.stop();
				clearInterval(timer);
			},
		};
	},

	confirm,
};

function connection(state) {
	const words = { connecting: 'Connecting…', live: 'Live', lost: 'Lost, reconnecting…', none: '' };
	byId('connection').dataset.state = state;
	byId('connection').hidden = state === 'none';
	setText(byId('connection'), words[state]);
}

function askForKey() {
	if (location.hash.startsWith('#/login')) return;
	wanted = location.hash;
	session = { required: true, signed_in: false };
	location.hash = '#/login';
}

function address() {
	const [path, search = ''] = location.hash.replace(/^#\/?/, '').split('?');
	const [name, ...parts] = path.split('/').map((part) => {
		try {
			return decodeURIComponent(part);
		} catch {
			return part;
		}
	});
	return { name: name || home(), parts, parameters: new URLSearchParams(search) };
}

/** The page to begin with: the overview is about all bots. */
const home = () => (seesAll() ? 'overview' : 'conversations');

function show() {
	const { name, parts, parameters } = address();
	if (session.required && !session.signed_in && name !== 'login') return askForKey();
	const page = Object.hasOwn(pages, name) && (name !== 'c' || (parts[0] && parts[1])) && pages[name];
	if (!page || (name === 'overview' && !seesAll())) return frame.replace(`#/${page ? 'conversations' : home()}`), show();
	leave();
	shown += 1;
	frame.trouble(null);
	connection(name === 'login' ? 'none' : 'connecting');
	for (const link of byId('nav').querySelectorAll('a')) {
		if (link.hash === `#/${name === 'c' ? 'conversations' : name}`) link.setAttribute('aria-current', 'page');
		else link.removeAttribute('aria-current');
	}
	byId('nav').hidden = name === 'login';
	byId('nav').firstElementChild.hidden = !seesAll();
	byId('logout').hidden = !session.required || !session.signed_in;
	const root = element('div', { class: `page ${name === 'c' ? 'talk' : name}` });
	byId('main').replaceChildren(root);
	leave = page(root, { ...frame, parts, parameters, signedIn }) ?? (() => {});
	if (shown > 1 && !root.contains(document.activeElement)) byId('main').focus({ preventScroll: true });
	scrollTo(0, 0);
}

async function signedIn() {
	session = await server.session();
	location.hash = wanted && !wanted.startsWith('#/login') ? wanted : `#/${home()}`;
	wanted = '';
	count();
}

async function signOut() {
	try {
		await server.logout();
	} catch (problem) {
		return frame.trouble(problem);
	}
	session = { required: true, signed_in: false };
	wanted = '';
	location.hash = '#/login';
}

/** How much needs a person, beside the page's name. */
const count = throttled(async () => {
	if (session.required && !session.signed_in) return;
	try {
		const { items, next_cursor: more } = await server.attention({ limit: 100 });
		byId('attention-count').hidden = !items.length;
		setText(byId('attention-count'), more ? `${items.length}+` : String(items.length));
		byId('attention-count').setAttribute('aria-label', `${items.length} need a person`);
	} catch { /* the page that is shown says it */ }
}, 1000);

let closeQuestion = () => {};

/** A dialog with a question; resolves to whether the person said yes. */
function confirm({ title, text, yes }) {
	closeQuestion();
	return new Promise((resolve) => {
		const answer = (label, value, kind) => button(label, { class: kind }, () => dialog.close(value));
		const dialog = element('dialog', { 'aria-labelledby': 'question' }, element('h2', { id: 'question' }, title), element('p', text),
			element('div.row', answer('Cancel', ''), answer(yes, 'yes', 'danger')));
		dialog.addEventListener('close', () => {
			dialog.remove();
			resolve(dialog.returnValue === 'yes');
		});
		closeQuestion = () => dialog.close();
		document.body.append(dialog);
		dialog.showModal();
	});
}

async function start() {
	try {
		session = await server.session();
	} catch (problem) {
		frame.trouble(problem);
		return void setTimeout(start, 2000);
	}
	addEventListener('hashchange', () => {
		closeQuestion();
		show();
	});
	show();
	count();
	setInterval(() => document.hidden || count(), slow);
	addEventListener('acted', count);
	// Where there is no playground, the root leads back here.
	fetch('/', { method: 'HEAD' }).then(({ ok, redirected }) => {
		if (!ok || redirected) return;
		byId('playground').href = '/';
		byId('playground').hidden = false;
	}, () => {});
}

byId('logout').addEventListener('click', signOut);
byId('skip').addEventListener('click', (event) => {
	event.preventDefault();
	byId('main').focus();
});
start();
