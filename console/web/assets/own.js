// The person's own messages, which can be edited, deleted and sent again. Each
// has one view, so that focus and a half-written edit survive.

import { MessageView } from './chat.js';
import { button, element, setText } from './dom.js';

export class OwnMessage extends MessageView {
	/** Actions: edit(id, text), remove(id), retry(id). */
	constructor(id, actions) {
		super(id);
		this.actions = actions;
		this.repeats = element('span.repeats');
		this.note = element('p.note');
		this.edit = button('Edit', {}, () => this.startEdit());
		this.remove = button('Delete', {}, () => actions.remove(id));
		this.retry = button('Send again', { class: 'retry' }, () => actions.retry(id));
		this.tools = element('div.tools', this.retry, this.edit, this.remove);
		this.meta.append(this.repeats);
		this.below.append(this.tools);
		this.node.append(this.note);
	}

	render(message) {
		super.render(message);
		const gone = message.state === 'deleted';
		this.current = message.text;
		setText(this.who, '');
		setText(this.repeats, message.repeats ? `delivered again ${message.repeats}×: recognised, ignored` : '');
		setText(this.note, message.note);
		this.note.hidden = !message.note;
		this.retry.hidden = message.state !== 'unsent';
		this.edit.hidden = this.remove.hidden = gone || !message.version;
		const name = message.number ? `message ${message.number}` : 'the message';
		this.edit.setAttribute('aria-label', `Edit ${name}`);
		this.remove.setAttribute('aria-label', `Delete ${name}`);
		if (gone) this.endEdit(false);
	}

	startEdit() {
		if (this.field) return;
		this.field = element('textarea', { rows: 2, 'aria-label': 'New text of the message', dir: 'auto' });
		this.field.value = this.current;
		this.field.addEventListener('keydown', (event) => this.key(event));
		this.form = element('div.editing', this.field, element('div.row',
			button('Save', { class: 'primary' }, () => this.save()),
			button('Cancel', {}, () => this.endEdit(true))));
		this.text.hidden = this.tools.hidden = true;
		this.bubble.append(this.form);
		this.field.focus();
		this.field.select();
	}

	key(event) {
		if (event.isComposing) return;
		if (event.key === 'Escape') this.endEdit(true);
		if (event.key !== 'Enter' || event.shiftKey) return;
		event.preventDefault();
		this.save();
	}

	save() {
		const text = this.field.value;
		if (!text.trim()) return this.field.focus();
		this.endEdit(true);
		if (text !== this.current) this.actions.edit(this.id, text);
	}

	endEdit(focus) {
		if (!this.field) return;
		this.form.remove();
		this.field = this.form = null;
		this.text.hidden = this.tools.hidden = false;
		if (focus) this.edit.focus();
	}
}
