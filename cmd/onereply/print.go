package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/internal/client"
)

// printJSON prints a value in one line.
func (p *program) printJSON(value any) error {
	encoder := json.NewEncoder(p.stdout)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

// printReceipt prints an acknowledgement in one line.
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
// facts that apply.
func (p *program) printState(s onereply.State) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s  version %d  answered %d  pending %d\n", conversationName(s.Bot, s.Conversation), s.Phase, s.Version, s.Answered, s.Pending)
	add := func(show bool, format string, args ...any) {
		if show {
			fmt.Fprintf(&b, "  "+format+"\n", args...)
		}
	}
	add(s.PauseReason != "", "paused: %s", line(s.PauseReason))
	if !s.DueAt.IsZero() {
		add(true, "due %s", clock(s.DueAt))
	}
	if s.Lease != nil {
		add(true, "lease %d of %s until %s", s.Lease.Token, line(s.Lease.Holder), clock(s.Lease.ExpiresAt))
	}
	add(s.Discards > 0 || s.Attempts > 0, "turn %d: %s, %s", s.Turn, count(s.Attempts, "attempt"), count(s.Discards, "discard"))
	add(s.SetAside > 0, "%s set aside: each worker that took them was lost; requeue tries them again", count(s.SetAside, "message"))
	add(s.LastError != "", "last error: %s", line(s.LastError))
	_, err := fmt.Fprint(p.stdout, b.String())
	return err
}

// printTranscript prints a chat. Each entry has its author, its status and its text.
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

// headline is the author of an entry, and its status.
func headline(e onereply.Entry) string {
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

// sender is the best name that is known of a person.
func sender(who *onereply.Person) string {
	switch {
	case who == nil || *who == onereply.Person{}:
		return "someone"
	case who.Name != "":
		return line(who.Name)
	}
	return line(who.ID)
}

// named is a conversation for people.
func conversationName(bot, conversation string) string { return line(bot) + "/" + line(conversation) }

// clock is the time of day in UTC, as the API writes it.
func clock(t onereply.Time) string { return t.UTC().Format("15:04:05.000Z") }

// line makes one line of a text. Control characters are shown and not sent to the
// terminal, which would obey them: anybody can write to a bot.
func line(text string) string {
	return strings.Map(func(c rune) rune {
		if c == '\n' || c == '\t' {
			return ' '
		}
		return c
	}, visible(text))
}

// block indents the lines of a text.
func block(text string) string { return strings.ReplaceAll(visible(text), "\n", "\n    ") }

// visible escapes all characters that are neither printable nor a line break or a tab.
func visible(text string) string {
	var b strings.Builder
	for _, c := range text {
		if c == '\n' || c == '\t' || strconv.IsPrint(c) {
			b.WriteRune(c)
			continue
		}
		quoted := strconv.QuoteRune(c)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}

// counted is "1 bot", "2 bots".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
