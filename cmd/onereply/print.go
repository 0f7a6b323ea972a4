package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/internal/client"
)

// printJSON prints a value in one line. Characters such as < stay as they are: the output
// is for programs and terminals, and not for pages.
func (p *program) printJSON(value any) error {
	encoder := json.NewEncoder(p.stdout)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

// printReceipt prints an acknowledgement in one line: the outcome, the id, the version,
// the reason where the message was ignored, and when the next turn starts:
//
//	queued  m1  version 1  due 03:04:05.600Z
func (p *program) printReceipt(r onereply.Receipt) error {
	parts := []string{string(r.Outcome), line(r.MessageID), fmt.Sprintf("version %d", r.Version)}
	if r.Reason != "" {
		parts = append(parts, "("+line(r.Reason)+")")
	}
	if !r.DueAt.IsZero() {
		parts = append(parts, "due "+clock(r.DueAt))
	}
	_, err := fmt.Fprintln(p.stdout, strings.Join(parts, "  "))
	return err
}

// printState prints the counters of a conversation in one line, and below it only the
// facts that apply:
//
//	support/c1  generating  version 3  answered 2  pending 1
//	  lease 4 of n1 until 03:04:35.600Z
//	  turn 2: 2 attempts, 1 discard
//	  last error: no answer
//
// The version counts inputs, and answered is the version up to which they are settled.
func (p *program) printState(s onereply.State) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s  version %d  answered %d  pending %d\n", conversationName(s.Bot, s.Conversation), s.Phase, s.Version, s.Answered, s.Pending)
	add := func(show bool, format string, args ...any) {
		if show {
			fmt.Fprintf(&b, "  "+format+"\n", args...)
		}
	}
	add(s.PauseReason != "", "paused: %s", line(s.PauseReason))
	if !s.PausedUntil.IsZero() {
		add(true, "paused until %s", clock(s.PausedUntil))
	}
	if !s.DueAt.IsZero() {
		add(true, "due %s", clock(s.DueAt))
	}
	if s.Lease != nil {
		add(true, "lease %d of %s until %s", s.Lease.Token, line(s.Lease.Holder), clock(s.Lease.ExpiresAt))
	}
	add(s.Discards > 0 || s.Attempts > 0, "turn %d: %s, %s", s.Turn, count(s.Attempts, "attempt"), count(s.Discards, "discard"))
	add(s.SetAside > 0, "%s set aside: the model refuses them, or each worker that took them was lost; requeue tries them again", count(s.SetAside, "message"))
	add(s.LastError != "", "last error: %s", line(s.LastError))
	_, err := fmt.Fprint(p.stdout, b.String())
	return err
}

// printTranscript prints a chat. Each entry has its author, its status and its text:
//
//	2026-01-02 03:04:05  Ann  m1 (answered)
//	    Where is my parcel?
//
//	2026-01-02 03:04:09  REPLY c1/1 (sent) to m1
//	    It arrives tomorrow.
//
// Times are in UTC, like those of the API.
func (p *program) printTranscript(entries []client.Document[onereply.Entry]) error {
	var b strings.Builder
	for _, one := range entries {
		e := one.Value
		fmt.Fprintf(&b, "\n%s  %s\n", e.At.UTC().Format(time.DateTime), headline(e))
		if e.Text != "" {
			fmt.Fprintf(&b, "    %s\n", block(e.Text))
		}
		for _, a := range e.Attachments {
			fmt.Fprintf(&b, "    [%s %s]\n", line(a.Kind), line(a.URL))
		}
	}
	_, err := fmt.Fprint(p.stdout, b.String())
	return err
}

// headline is the author of an entry, and its status. A reply names the messages that it
// covers, which shows a burst that was answered as one. Marks have neither.
func headline(e onereply.Entry) string {
	switch e.Kind {
	case onereply.EntryReset:
		return fmt.Sprintf("RESET (%s): later turns know nothing from before it", cmp.Or(line(e.Reason), "no reason given"))
	case onereply.EntryName:
		return fmt.Sprintf("NAME (%s): from here on this name leads here too", line(e.Reason))
	}
	status := string(e.Status)
	if e.Reason != "" {
		status += ", " + line(e.Reason)
	}
	if e.LateInput {
		status += ", late input"
	}
	if e.Kind != onereply.EntryReply {
		return fmt.Sprintf("%s  %s (%s)", sender(e.Sender), line(e.ID), status)
	}
	text := fmt.Sprintf("REPLY %s (%s)", line(e.ID), status)
	if e.Author != "" {
		text += " by " + line(e.Author)
	}
	if len(e.Covers) > 0 {
		text += " to " + line(strings.Join(e.Covers, ", "))
	}
	return text
}

// sender is the best name that is known of a person: the name, else the id.
func sender(who *onereply.Person) string {
	switch {
	case who == nil || *who == onereply.Person{}:
		return "someone"
	case who.Name != "":
		return line(who.Name)
	}
	return line(who.ID)
}

// conversationName is a conversation for people.
func conversationName(bot, conversation string) string { return line(bot) + "/" + line(conversation) }

// clock is the time of day in UTC, as the API writes it. The day is left out: these lines
// are read while things happen, or soon after.
func clock(t onereply.Time) string { return t.UTC().Format("15:04:05.000Z") }

// screen is an output of the program, as each command has it. It makes all that is printed
// visible, whichever command prints it: texts of people, names and errors that a server
// sends, file names. Otherwise the terminal would obey their control characters, and show
// marks of direction as another text. JSON stays the same JSON: such characters stand only
// within its texts, and are escaped as JSON escapes them.
type screen struct{ to io.Writer }

// Write takes whole characters: each print of this program is one call.
func (s screen) Write(text []byte) (int, error) {
	if _, err := io.WriteString(s.to, visible(string(text))); err != nil {
		return 0, err
	}
	return len(text), nil
}

// line makes one line of a text. A text that other people can choose goes through line or
// block, or is quoted, before it is printed, so that it can't look like a line of ours.
func line(text string) string {
	return strings.Map(func(c rune) rune {
		if c == '\n' || c == '\t' {
			return ' '
		}
		return c
	}, visible(text))
}

// block indents the lines of a text, so that no text can look like the headline of an
// entry.
func block(text string) string { return strings.ReplaceAll(visible(text), "\n", "\n    ") }

// visible escapes all characters that are neither printable nor a line break or a tab, as
// JSON would: \u001b.
func visible(text string) string {
	hidden := func(c rune) bool { return c != '\n' && c != '\t' && !strconv.IsPrint(c) }
	if utf8.ValidString(text) && !strings.ContainsFunc(text, hidden) {
		return text
	}
	var b strings.Builder
	for _, c := range text {
		if !hidden(c) {
			b.WriteRune(c)
			continue
		}
		for _, half := range utf16.Encode([]rune{c}) {
			fmt.Fprintf(&b, `\u%04x`, half)
		}
	}
	return b.String()
}

// count is "1 bot", "2 bots". It knows nouns only that take an s.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
