// The few helpers that touch the document. Text always arrives as text nodes:
// nothing here, or anywhere else on the page, parses markup.

export const byId = (id) => document.getElementById(id);

/** Makes an element: its tag, with classes after dots, attributes if any (but for those that are false or null), children. */
export const element = (name, ...rest) => make('http://www.w3.org/1999/xhtml', name, rest);

export const svg = (name, ...rest) => make('http://www.w3.org/2000/svg', name, rest);

function make(namespace, name, rest) {
	const [tag, ...classes] = name.split('.');
	const node = document.createElementNS(namespace, tag);
	if (classes.length) node.setAttribute('class', classes.join(' '));
	const attributes = rest[0]?.constructor === Object ? rest.shift() : {};
	for (const [key, value] of Object.entries(attributes)) {
		if (value !== false && value != null) node.setAttribute(key, value === true ? '' : value);
	}
	node.append(...rest);
	return node;
}

export function button(label, attributes, press) {
	const node = element('button', { type: 'button', ...attributes }, label);
	node.addEventListener('click', press);
	return node;
}

/** A section with its heading. */
export const panel = (title, id, ...children) => element('section.panel', { id, 'aria-labelledby': `${id}-title` }, element('h2', { id: `${id}-title` }, title), ...children);

/** A table that scrolls sideways where it is too wide. */
export function table(caption, columns, body) {
	return element('div.wide', { tabindex: 0, role: 'region', 'aria-label': caption }, element('table',
		element('thead', element('tr', ...columns.map((name) => element('th', { scope: 'col' }, name)))), body));
}

/** Where the console shows a conversation. */
export const addressOf = ({ bot, conversation, turn }) => `#/c/${encodeURIComponent(bot)}/${encodeURIComponent(conversation)}${turn ? `?turn=${turn}` : ''}`;

/** Sets the text only where it changed, so that nothing is announced twice. */
export function setText(node, text) {
	if (node.textContent !== text) node.textContent = text;
}

export const calm = () => matchMedia('(prefers-reduced-motion: reduce)').matches;

/**
 * Keeps a scrolling element at its end, until the person scrolls back; at the
 * end again it follows again. Returns the function to call after each change,
 * which says whether it follows.
 */
export function follow(scroller, axis) {
	const [at, size, seen] = axis === 'x'
		? ['scrollLeft', 'scrollWidth', 'clientWidth']
		: ['scrollTop', 'scrollHeight', 'clientHeight'];
	let following = true;
	scroller.addEventListener('scroll', () => {
		following = scroller[size] - scroller[at] - scroller[seen] < 24;
	}, { passive: true });
	return (force = false) => {
		if (following || force) scroller[at] = scroller[size];
		return following;
	};
}

/** Puts children into a node, keeping those that are there already, with their focus. */
export function fill(node, children) {
	children.forEach((child, index) => {
		if (node.children[index] !== child) node.insertBefore(child, node.children[index] ?? null);
	});
	while (node.children.length > children.length) node.lastElementChild.remove();
}

/** A time as an element that says it to people and to programs. */
export function clock(at, words) {
	const date = new Date(at);
	const exact = date.toLocaleString([], { hourCycle: 'h23' });
	return element('time', { datetime: date.toISOString(), title: exact }, words ?? exact);
}

/** Calls what at once, and then at most once in the pause and never beside itself, however often it is asked for. */
export function throttled(what, pause) {
	let busy = false;
	let again = false;
	let timer = null;
	const run = async () => {
		busy = true;
		again = false;
		const paused = new Promise((over) => { timer = setTimeout(over, pause); });
		await what();
		await paused;
		busy = false;
		if (again) run();
	};
	const ask = () => {
		if (busy) again = true;
		else run();
	};
	ask.stop = () => {
		clearTimeout(timer); // what is busy stays so
		again = false;
	};
	return ask;
}

/** Calls draw once in the next frame, however often it is asked for. */
export function onceAFrame(draw) {
	let asked = false;
	return () => {
		if (asked) return;
		asked = true;
		requestAnimationFrame(() => {
			asked = false;
			draw();
		});
	};
}
