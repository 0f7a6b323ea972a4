// The way in: one of the API keys, for a session that scripts can't read.

import { server } from './api.js';
import { element, setText } from './dom.js';

export function login(root, { title, signedIn }) {
	title('Sign in');
	const field = element('input', { type: 'password', id: 'key', name: 'key', required: true, autocomplete: 'current-password', autocapitalize: 'off', spellcheck: 'false', 'aria-describedby': 'key-hint problem' });
	const problem = element('p.problem', { role: 'alert', id: 'problem' });
	const submit = element('button', { type: 'submit', class: 'primary' }, 'Sign in');
	const form = element('form.panel', element('h1', 'Sign in'),
		element('label', { for: 'key' }, 'API key'), field,
		element('p', { id: 'key-hint', class: 'hint' }, 'One of the api_keys in this server’s configuration. The session ends after 12 hours, or when you sign out.'),
		problem, submit);
	form.addEventListener('submit', async (event) => {
		event.preventDefault();
		submit.disabled = true;
		setText(problem, '');
		try {
			await server.login(field.value);
			field.value = '';
			await signedIn();
		} catch (trouble) {
			setText(problem, advice(trouble));
			field.setAttribute('aria-invalid', 'true');
			field.select();
		}
		submit.disabled = false;
	});
	root.append(form);
	field.focus();
}

function advice({ status, message }) {
	if (status === 401 || status === 403) return 'This is none of the server’s API keys. Look into api_keys in its configuration.';
	return status ? message : 'The server can’t be reached. Start it, then try again.';
}
