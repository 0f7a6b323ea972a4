// The field to write in, and the buttons that send for you.

import { newId } from './ownapi.js';

const burst = ['Hi there', 'I have a question', 'about my order', 'number 4711', 'it has not arrived yet'];
const question = 'Please book a table for two at seven';
const correction = 'Sorry, make that four people';
const endless = ['and another thing', 'oh, and also', 'wait, I forgot', 'one more', 'what I mean is'];
const betweenFast = 70;
const betweenEndless = 800;
const afterStart = 500;
const patience = 30_000;

const wait = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

export class Composer {
	/** Actions: send(id, text), repeat(), started() → promise of the next start of a turn. */
	constructor({ form, field, buttons }, actions) {
		Object.assign(this, { field, buttons, actions });
		form.addEventListener('submit', (event) => {
			event.preventDefault();
			this.sendField();
		});
		field.addEventListener('keydown', (event) => this.key(event));
		field.addEventListener('input', () => this.grow());
		buttons.burst.addEventListener('click', () => this.sendBurst());
		buttons.correct.addEventListener('click', () => this.sendCorrection());
		buttons.repeat.addEventListener('click', () => actions.repeat());
		buttons.endless.addEventListener('click', () => (this.typing ? this.stop() : this.typeWithoutEnd()));
	}

	/** Whether there is a message to deliver again. */
	allowRepeat(allowed) {
		if (this.buttons.repeat.disabled === allowed) this.buttons.repeat.disabled = !allowed;
	}

	key(event) {
		if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
		event.preventDefault();
		this.sendField();
	}

	sendField() {
		const text = this.field.value;
		this.field.focus();
		if (!text.trim()) return;
		this.field.value = '';
		this.grow();
		this.send(text);
	}

	send(text) {
		this.actions.send(newId('m-'), text);
	}

	grow() {
		this.field.rows = Math.min(6, this.field.value.split('\n').length);
	}

	async sendBurst() {
		for (const text of burst) {
			this.send(text);
			await wait(betweenFast);
		}
	}

	async sendCorrection() {
		if (this.correcting) return;
		this.correcting = true;
		this.buttons.correct.setAttribute('aria-disabled', 'true');
		const started = this.actions.started(patience);
		this.send(question);
		if (await started) {
			await wait(afterStart);
			this.send(correction);
		}
		this.correcting = false;
		this.buttons.correct.removeAttribute('aria-disabled');
	}

	typeWithoutEnd() {
		let count = 0;
		const next = () => {
			this.send(`${endless[count % endless.length]} (${count + 1})`);
			count += 1;
		};
		next();
		this.typing = setInterval(next, betweenEndless);
		this.showTyping();
	}

	stop() {
		clearInterval(this.typing);
		this.typing = null;
		this.showTyping();
	}

	showTyping() {
		this.buttons.endless.setAttribute('aria-pressed', String(Boolean(this.typing)));
		this.buttons.endless.textContent = this.typing ? 'Stop typing' : 'Type without end';
	}
}
