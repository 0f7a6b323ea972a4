// Finds the conversation and wires the parts together.

import { Beside, Sliders } from './beside.js';
import { Chat } from './chat.js';
import { Composer } from './composer.js';
import { byId, onceAFrame, setText } from './dom.js';
import { watch } from './events.js';
import { join, read } from './lanes.js';
import { Log } from './log.js';
import { OwnConversation } from './outbox.js';
import { OwnMessage } from './own.js';
import { OwnAPI, newId } from './ownapi.js';
import { Timeline } from './timeline.js';
import { seconds } from './words.js';

const bot = new URLSearchParams(location.search).get('bot') || 'demo';

const chat = new Chat(
	{ list: byId('messages'), scroller: byId('messages-scroll'), empty: byId('chat-empty') },
	{ message: (id) => new OwnMessage(id, { edit, remove, retry }) },
);
const log = new Log({ list: byId('log'), scroller: byId('log-scroll'), empty: byId('log-empty') });
const timeline = new Timeline(byId('timeline'), { empty: 'Inputs, the window that grows with each of them, attempts and the reply appear here.' });
const composer = new Composer(
	{
		form: byId('composer'), field: byId('text'),
		buttons: { burst: byId('burst'), correct: byId('correct'), repeat: byId('repeat'), endless: byId('endless') },
	},
	{ send, repeat, started },
);
const sliders = new Sliders(byId('sliders'), (text) => trouble(text));
const beside = new Beside({ panel: byId('origin'), button: byId('compare'), list: byId('origin-messages'), scroller: byId('origin-scroll'), table: byId('compared') }, sliders);

let api;
let conversation;
let story = read([]);
let stopWatching = () => {};
let queue = Promise.resolve();
const waiting = new Set(); // for the next turn to start

const show = onceAFrame(() => {
	chat.render(conversation);
	story = read(join(conversation.steps, []));
	log.render(story.rows);
	timeline.render(story, () => conversation.now(), conversation.connected);
	beside.render(conversation);
	showCounters();
	showPhase();
	composer.allowRepeat(Boolean(conversation.lastDelivered()));
});

byId('new').addEventListener('click', () => {
	location.hash = newId('c-', 8);
	byId('text').focus();
});
byId('skip').addEventListener('click', (event) => {
	event.preventDefault();
	byId('text').focus();
});
addEventListener('hashchange', open);
setInterval(showPhase, 100);
open();

/** Opens the conversation that the address names, or a new one. */
function open() {
	const given = decode(location.hash.slice(1));
	const name = given || newId('c-', 8);
	if (!given) history.replaceState(null, '', `#${encodeURIComponent(name)}`);
	stopWatching();
	composer.stop();
	chat.clear();
	log.clear();
	beside.clear();
	api = new OwnAPI(bot, name);
	conversation = new OwnConversation(show);
	setText(byId('bot'), `bot ${bot}`);
	setText(byId('conversation-name'), `conversation ${name}`);
	setConnection('connecting');
	trouble('');
	stopWatching = watchConversation(api, conversation);
	show();
}

function decode(text) {
	try {
		return decodeURIComponent(text);
	} catch {
		return text;
	}
}

// Events wait until the transcript is there, so that they find what they are
// about. The transcript is read again after each interruption: what the stream
// missed is in it.
function watchConversation(api, conversation) {
	let early = [];
	const end = watch(api.events, {
		async connected() {
			early ??= [];
			try {
				await catchUp(api, conversation);
				conversation.connected = true;
				setConnection('live', conversation);
				trouble('');
			} catch (problem) {
				trouble(problem.message, conversation);
			}
			const held = early ?? [];
			early = null;
			held.forEach(apply);
		},
		disconnected(why) {
			conversation.connected = false;
			setConnection(why === 'hidden' ? 'connecting' : 'lost', conversation);
			if (why !== 'hidden') explainLoss(api, conversation);
			show();
		},
		event(event) {
			if (early) early.push(event);
			else apply(event);
		},
	});

	function apply(event) {
		conversation.apply(event);
		if (event.type !== 'turn.started') return;
		for (const done of waiting) done(true);
	}
	return end;
}

/** Reads what the stream did not tell. */
async function catchUp(api, conversation) {
	const transcript = await api.whole();
	conversation.merge(transcript);
	if (transcript.length) conversation.settle(await api.state());
}

/** Says why the stream is away, and what to do. */
async function explainLoss(api, mine) {
	try {
		await api.probe();
	} catch (problem) {
		const advice = {
			0: 'The server can’t be reached. This page connects again by itself; if you stopped the server, start it again.',
			401: 'This server asks for an API key, which the playground can’t give. Use “onereply demo”, or a server without api_keys.',
			404: `There is no bot named “${bot}” here. Open this page with ?bot= and a name from the configuration.`,
		}[problem.status];
		if (!mine.connected) trouble(advice ?? `${problem.message} This page connects again by itself.`, mine);
	}
}

function send(id, text) {
	conversation.sending(id, text);
	beside.receive(id, text);
	chat.render(conversation, true);
	deliver(id, text);
}

// Messages leave one after the other, so that they arrive in the order in
// which they were written.
function deliver(id, text) {
	const sentAt = new Date().toISOString();
	const [mine, to] = [conversation, api];
	queue = queue.then(() => attempt(mine, id, () => to.send({ id, text, sentAt })));
}

function repeat() {
	const last = conversation.lastDelivered();
	if (last) deliver(last.id, last.text);
}

function retry(id) {
	conversation.retrying(id);
	deliver(id, conversation.message(id).text);
}

function edit(id, text) {
	attempt(conversation, id, () => api.edit(id, text));
}

function remove(id) {
	byId('text').focus();
	attempt(conversation, id, () => api.remove(id));
}

async function attempt(conversation, id, call) {
	try {
		conversation.receipt(id, await call());
	} catch (problem) {
		conversation.refused(id, problem);
	}
}

/** Resolves to true when the next turn starts, to false where none does in time. */
function started(patience) {
	return new Promise((resolve) => {
		const done = (yes) => {
			waiting.delete(done);
			clearTimeout(timer);
			resolve(yes);
		};
		const timer = setTimeout(done, patience, false);
		waiting.add(done);
	});
}

function showCounters() {
	for (const [name, count] of Object.entries(conversation.count())) setText(byId(`count-${name}`), String(count));
}

function showPhase() {
	const { phase } = conversation;
	const open = story.openWindow();
	const left = open ? open.due - conversation.now() : 0;
	const words = { generating: 'writing', sending: 'sending the reply' }[phase] ?? phase;
	byId('phase').dataset.phase = phase;
	setText(byId('phase'), phase === 'collecting' && left > 0 ? `collecting, ${seconds(left)} left` : words);
}

function setConnection(state, about = conversation) {
	if (about !== conversation) return;
	const words = { connecting: 'Connecting…', live: 'Live', lost: 'Lost, reconnecting…' };
	byId('connection').dataset.state = state;
	setText(byId('connection'), words[state]);
}

function trouble(text, about = conversation) {
	if (about !== conversation) return;
	setText(byId('trouble'), text);
	byId('trouble').hidden = !text;
}
