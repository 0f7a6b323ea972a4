// What a person can do to a conversation, and the same as a command line.

import { Trouble, may } from './api.js';
import { button, element, setText } from './dom.js';

/** A word for a shell, without what a terminal acts on. */
export function quote(word) {
	if (/^(?!=)[\w.,:@%+=/-]+$/.test(word)) return word;
	const shown = (c) => `'$'${encodeURIComponent(c).replaceAll('%', '\\x')}''`;
	return `'${word.replaceAll("'", `'\\''`).replace(/\p{Cc}/gu, shown)}'`;
}

/** The command line of an action; names that begin with a dash come after "--". */
export function command(name, bot, conversation, { flags = [], word } = {}) {
	const where = location.origin === 'http://127.0.0.1:8080' ? [] : [`--server=${location.origin}`];
	const words = [bot, conversation, ...(word === undefined ? [] : [word])];
	const dash = words.some((one) => one.startsWith('-')) ? ['--'] : [];
	return ['onereply', name, ...[...where, ...flags, ...dash, ...words].map(quote)].join(' ');
}

/** A button that copies what text() gives, and says so. */
export function copier(text, what, say) {
	const node = button('Copy', { class: 'copy', 'aria-label': `Copy ${what}` }, async () => {
		try {
			await navigator.clipboard.writeText(text());
			node.textContent = 'Copied';
		} catch {
			node.textContent = 'Select it and copy';
		}
		say(node.textContent === 'Copied' ? `Copied ${what}` : 'This browser does not let pages copy. Select the text and copy it.');
		setTimeout(() => { node.textContent = 'Copy'; }, 2000);
	});
	return node;
}

const isPaused = ({ phase }) => phase === 'paused';

/** Each action; allowed says in which states it makes sense. Those that mend are about a turn's reply. */
const actions = [
	{ name: 'flush', label: 'Flush now', about: 'Ends the quiet time: the bot answers at once.', done: 'The quiet time is over.', allowed: ({ pending, phase }) => pending > 0 && phase !== 'paused' },
	{ name: 'pause', label: 'Pause', about: 'You take over: messages are kept, nothing is answered.', done: 'Paused. Messages are kept.', field: 'Reason', allowed: (state) => !isPaused(state), body: (value) => ({ reason: value }), flags: (value) => (value ? [`--reason=${value}`] : []) },
	{ name: 'resume', label: 'Resume', about: 'The bot speaks again, and answers what waits.', done: 'Resumed. What waits is answered.', allowed: isPaused, body: () => ({ answer_pending: true }) },
	{ name: 'resume', label: 'Resume and close', about: 'The bot speaks again; what waits is closed without a reply.', done: 'Resumed. What waited is closed.', allowed: isPaused, body: () => ({ answer_pending: false }), flags: () => ['--close'] },
	{ name: 'reset', label: 'Begin afresh', about: 'Closes what waits, and forgets.', done: 'Begun afresh.', allowed: Boolean },
	{ name: 'requeue', label: 'Requeue', about: 'Tries a failed turn again, with all that waits.', done: 'The turn is tried again.', allowed: ({ phase, set_aside }) => phase === 'failed' || set_aside },
	{ name: 'reply', label: 'Reply', about: 'Your own reply: it is delivered, and closes what waits.', path: 'replies', done: 'Your reply is on its way.', field: 'Your reply', text: true, body: (value) => ({ text: value }) },
	{ name: 'delete', label: 'Delete', about: 'Removes all that is stored of the conversation.', done: 'Deleted.', danger: true, flags: () => ['--yes'] },
	{ name: 'resend', label: 'Send again', about: 'Sends the reply again, under the same id.', done: 'The reply is sent again.', mends: true },
	{ name: 'mark-sent', label: 'Mark as sent', about: 'You know that it arrived, or it does not matter.', done: 'Marked as sent.', mends: true },
];

const open = ({ danger }) => may(danger ? 'admin' : 'operate');
const mending = () => actions.filter((action) => action.mends && open(action));

const pathOf = ({ name, path = name, mends }, turn) => (mends ? `turns/${turn}/${name}` : path);

const wrong = { unknown: 'nobody knows whether it arrived', undelivered: 'it was not delivered', partial: 'only part of it was delivered' };

export class Actions {
	/** Done is called after an action, with its name; there says whether it still is. */
	constructor(root, parts) {
		Object.assign(this, parts);
		this.rows = actions.filter((action) => !action.mends && open(action)).map((action) => this.row(action));
		this.troubles = element('div');
		root.replaceChildren(this.troubles, ...this.rows.map(({ node }) => node), ...(may('operate') ? [] : [element('p.empty', 'Your key lacks the right operate: it may look, and not act.')]));
	}

	row(action, turn) {
		const id = `action-${action.label.toLowerCase().replaceAll(' ', '-')}${turn ?? ''}`;
		const field = action.field && element(action.text ? 'textarea' : 'input', { id: `${id}-field`, placeholder: action.field, dir: 'auto', rows: action.text ? 2 : null, maxlength: action.text ? null : 500, autocomplete: 'off' });
		const line = element('code');
		const show = () => setText(line, command(action.name, this.bot, this.conversation, {
			flags: action.flags?.(field?.value ?? '') ?? [], word: turn ? String(turn) : action.text ? field.value || '…' : undefined,
		}));
		field?.addEventListener('input', show);
		const press = button(action.label, { id, class: action.danger ? 'danger' : null, 'data-action': action.name }, () => this.press(action, turn, field, press));
		show();
		const node = element('div.action',
			element('div.what', press, element('p', action.about)),
			...(field ? [element('label.hidden', { for: field.id }, action.field), field] : []),
			element('div.line', line, copier(() => line.textContent, `the command for ${action.label}`, this.frame.say)));
		return { action, node, press };
	}

	/** Shows which actions make sense, and the replies that need a decision. */
	render(state, entries) {
		for (const { action, node, press } of this.rows) {
			const allowed = Boolean(state) && (action.allowed?.(state) ?? true);
			node.hidden = !allowed && (action.name === 'resume' || action.name === 'pause');
			press.disabled = !allowed || press.dataset.busy === 'yes';
		}
		const unsure = entries.filter(({ type, state: status, turn }) => type === 'reply' && turn && Object.hasOwn(wrong, status));
		const key = unsure.map(({ turn, state: status }) => turn + status).join();
		if (key === this.shown) return;
		this.shown = key;
		this.troubles.replaceChildren(...unsure.map(({ turn, state: status }) => element('div.trouble-row',
			element('p', `The reply of turn ${turn}: ${wrong[status]}.`), ...mending().map((action) => this.row(action, turn).node))));
	}

	async press(action, turn, field, press) {
		const value = field?.value.trim() ?? '';
		if (action.text && !value) return field.focus();
		if (action.danger && !await this.frame.confirm({ title: 'Delete this conversation?', text: `Everything that is stored of “${this.conversation}” goes: messages, replies, its timeline. Nothing brings it back.`, yes: 'Delete it' })) return;
		await attempt(press, this.frame, action.done, async () => {
			if (!await this.there()) throw new Trouble(404, 'This conversation was deleted meanwhile: nothing was done.');
			return action.danger ? this.api.forget() : this.api.act(pathOf(action, turn), action.body?.(value));
		}, () => {
			if (field) field.value = '';
			field?.dispatchEvent(new Event('input'));
			this.done(action.name);
		});
	}
}

/** The buttons of the actions that the API names, to mend what ended badly. */
export function remedies(api, turn, frame, done, names) {
	return actions.filter((action) => open(action) && names.includes(action.name.replace('-', '_'))).map((action) => {
		const press = button(action.label, { 'data-action': action.name }, () => attempt(press, frame, action.done, () => api.act(pathOf(action, turn)), done));
		return press;
	});
}

/** Carries an action out, once however often it is clicked, and says how it went. */
async function attempt(press, frame, said, call, done) {
	press.dataset.busy = 'yes';
	press.disabled = true;
	try {
		await call();
		dispatchEvent(new Event('acted'));
		frame.trouble(null);
		frame.say(said);
		done();
	} catch (problem) {
		frame.trouble(problem);
	}
	delete press.dataset.busy;
	press.disabled = false;
}
