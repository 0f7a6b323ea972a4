// The events in words, one line each, oldest first.

import { element, follow, setText } from './dom.js';

const clock = new Intl.DateTimeFormat('en', { hour: '2-digit', minute: '2-digit', second: '2-digit', fractionalSecondDigits: 1, hour12: false });

export class Log {
  constructor({ list, scroller, empty }) {
    Object.assign(this, { list, empty });
    this.toEnd = follow(scroller, 'y');
    this.clear();
  }

  clear() {
    this.shown = 0;
    this.list.replaceChildren();
  }

  render({ sentences }) {
    this.empty.hidden = sentences.length > 0;
    for (const said of sentences) {
      if (said.key > this.shown) this.list.append(line(said));
      this.shown = Math.max(this.shown, said.key);
    }
    while (this.list.children.length > sentences.length) this.list.firstElementChild.remove();
    // The latest one may have got its second half.
    if (sentences.length) setText(this.list.lastElementChild.lastElementChild, sentences.at(-1).text);
    this.toEnd();
  }
}

function line({ at, tone, text }) {
  const time = new Date(at);
  return element('li', { 'data-tone': tone },
    element('time', { datetime: time.toISOString() }, clock.format(time)),
    element('span', { dir: 'auto' }, text));
}
