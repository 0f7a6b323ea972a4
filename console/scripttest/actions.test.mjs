// The command lines that people copy into a shell.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { command, quote } from '../web/assets/actions.js';

const shell = (line, program = 'sh') => execFileSync(program, ['-c', `printf '%s\\0' ${line}`], { encoding: 'utf8' }).split('\0').slice(0, -1);

test('whatever a name holds, the shell reads it as one word', () => {
	const words = ['plain', 'two words', 'it’s', "it's", '$(reboot)', '`reboot`', 'a;b', '"', '\\', '*', '', '!x', 'שלום', '👩‍👩‍👧'];
	assert.deepEqual(shell(words.map(quote).join(' ')), words);
});

test('nothing that a terminal acts on is in a line that is pasted', () => {
	const words = ['a\nb', '\x03\nreboot\n', '\x1b[201~reboot\r', "it's\t\\n", '\x7f', '\x9b201~', '\x85é', '\x0af', '=ls', 'a=b'];
	const line = words.map(quote).join(' ');
	assert.doesNotMatch(line, /[\0-\x1f\x7f-\x9f]/);
	assert.deepEqual(shell(line, 'bash'), words);
	assert.equal(quote('=ls'), "'=ls'"); // zsh would look for a program
});

test('a command names its server, and dashes come after --', () => {
	globalThis.location = { origin: 'http://127.0.0.1:9999' };
	assert.equal(command('pause', 'support', 'c 1', { flags: ['--reason=Bob is on it'] }), "onereply pause --server=http://127.0.0.1:9999 '--reason=Bob is on it' support 'c 1'");
	assert.equal(command('reply', 'support', '-c', { word: 'hi' }), 'onereply reply --server=http://127.0.0.1:9999 -- support -c hi');
	globalThis.location = { origin: 'http://127.0.0.1:8080' };
	assert.equal(command('flush', 'support', 'c1'), 'onereply flush support c1');
});
