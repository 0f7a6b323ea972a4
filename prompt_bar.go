package onereply

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// bar begins a line that must not be taken for one that the promptWriter has begun.
const bar = "| "

// lineBreak matches what a model, or a person who reads a prompt, may take for the end of
// a line: the line breaks of Unicode, and the separators of ASCII.
var lineBreak = regexp.MustCompile("\r\n|[\n\v\f\r\x1c\x1d\x1e\u0085\u2028\u2029]")

// looksLikeNote matches a line that could be taken for a note of the promptWriter,
// whatever kind of bracket it has, and whatever can't be seen stands before it.
var looksLikeNote = regexp.MustCompile(`(?i)^[\s\p{Z}\p{C}]*\p{Ps}[\s\p{Z}\p{C}]*(` +
	strings.Join([]string{noteNotAnswered, noteToAnswer, noteSent, noteInReply, noteEdited, noteForwarded}, "|") + `)`)

// barred is a text in which a bar begins each line that looks like a note, and, with
// names, each line but the first: there a line that begins with a name must be the
// writer's own. A text without such lines stays as it is.
func barred(text string, names bool) string {
	if !lineBreak.MatchString(text) && !looksLikeNote.MatchString(text) {
		return text
	}
	lines := lineBreak.Split(text, -1)
	changed := names
	for i, line := range lines {
		if names && i > 0 || looksLikeNote.MatchString(line) {
			lines[i], changed = bar+line, true
		}
	}
	if !changed {
		return text
	}
	return strings.Join(lines, "\n")
}

// maxQuote is how many characters of a quoted message a prompt shows.
const maxQuote = 300

// quotable is the beginning of a text as one line that can stand between quotation marks.
func quotable(text string) string {
	return shortened(strings.ReplaceAll(lineBreak.ReplaceAllString(text, " "), `"`, "'"), maxQuote)
}

// shortened is a text with one space between its words, and a sign of omission in place
// of what goes beyond so many characters.
func shortened(text string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) > most {
		text = string([]rune(text)[:most]) + "…"
	}
	return text
}
