package turn_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/onereply/onereply/turn"
)

// readPolicy reads `debounce=2s max_wait=10s …`; what is absent stays.
func readPolicy(t *testing.T, d *datadriven.TestData, p *turn.Policy) {
	durations := map[string]*time.Duration{
		"debounce": &p.Debounce, "max_wait": &p.MaxWait, "lease": &p.Lease,
		"delay_after": &p.DelayAfter, "outage_after": &p.OutageAfter, "media_wait": &p.MediaWait, "retry_for": &p.RetryFor, "session_idle": &p.SessionIdle, "max_age": &p.MaxAge,
	}
	numbers := map[string]*int{
		"max_discards": &p.MaxDiscards, "attempts": &p.MaxAttempts, "turns_per_minute": &p.TurnsPerMinute, "waiting_bytes": &p.WaitingBytes, "prompt_bytes": &p.PromptBytes,
		"max_bot_turns": &p.MaxBotTurns, "early_attempts": &p.EarlyAttempts,
	}
	for _, arg := range d.CmdArgs {
		switch {
		case durations[arg.Key] != nil:
			*durations[arg.Key] = duration(t, d, arg.Vals[0])
		case numbers[arg.Key] != nil:
			arg.Scan(t, 0, numbers[arg.Key])
		case arg.Key == "on_new_input":
			p.OnNewInput = turn.Mode(arg.Vals[0])
		case arg.Key == "unknown_send":
			p.ResendUnknown = arg.Vals[0] == "resend"
		case arg.Key == "fallback":
			p.Fallback = true
		case arg.Key == "refusal":
			p.Refusal = true
		case arg.Key == "observe":
			p.Observe = true
		default:
			t.Fatalf("%s: unknown setting %q", d.Pos, arg.Key)
		}
	}
}

// read makes the event that a line names. The results of a worker carry the
// live nonce unless the line says another one.
func (s *story) read(t *testing.T, d *datadriven.TestData, kind string) happening {
	switch kind {
	case "edit", "delete":
		return s.readChange(t, d, kind)
	case "report":
		r := s.ledger.replies[int64(number(t, d, "reply", 2))]
		event := r.report(number(t, d, "part", 0), turn.Receipt(text(t, d, "receipt")))
		event.Reason = text(t, d, "reason")
		return happening{event: event}
	case "message":
		return happening{event: readMessage(t, d), sender: text(t, d, "sender")}
	case "stop_word":
		return s.readStopWord(t, d)
	case "wake":
		return happening{event: s.readWake(t, d)}
	case "renew", "hand_back", "interrupted", "generated", "failed", "sent", "send_failed", "send_unknown":
		return happening{event: s.readResult(t, d, kind)}
	}
	return happening{event: s.readWord(t, d, kind)}
}

func readMessage(t *testing.T, d *datadriven.TestData) turn.Message {
	m := turn.Message{
		Quiet: optional(t, d, "quiet"), Media: d.HasArg("media"),
		Closes:  turn.Ending(text(t, d, "closes")),
		Context: d.HasArg("context"), Unaddressed: d.HasArg("unaddressed"), Bot: d.HasArg("bot"),
		Bytes: number(t, d, "bytes", 0),
	}
	if d.HasArg("sent") {
		m.SentAt = start.Add(optional(t, d, "sent"))
	}
	return m
}

func (s *story) readChange(t *testing.T, d *datadriven.TestData, kind string) happening {
	target := s.ledger.find(text(t, d, "id"))
	if target == nil {
		t.Fatalf("%s: no such message", d.Pos)
	}
	return happening{target.change(kind == "delete", d.HasArg("media"), d.HasArg("bot")), target, target.sender}
}

func (s *story) readStopWord(t *testing.T, d *datadriven.TestData) happening {
	s.ledger.sender = text(t, d, "sender")
	edited := s.ledger.find(text(t, d, "id"))
	e := s.ledger.stopWord(s.record, edited)
	e.OptOut, e.SentAt = d.HasArg("opt_out"), readMessage(t, d).SentAt
	return happening{e, edited, s.ledger.sender}
}

func (s *story) readWake(t *testing.T, d *datadriven.TestData) turn.Wake {
	worker := text(t, d, "worker")
	s.leases[worker]++
	return turn.Wake{
		Holder: worker, Nonce: fmt.Sprintf("%s/%d", worker, s.leases[worker]),
		Alone: d.HasArg("alone"), Lone: d.HasArg("lone"), Moved: d.HasArg("moved"),
	}
}

func (s *story) readWord(t *testing.T, d *datadriven.TestData, kind string) turn.Event {
	switch kind {
	case "typing":
		return turn.Typing{For: optional(t, d, "for")}
	case "look":
		return turn.CheckSign{}
	case "flush":
		return turn.Flush{}
	case "pause":
		return turn.Pause{Reason: text(t, d, "reason"), For: optional(t, d, "for")}
	case "opt_out":
		return turn.OptOut{}
	case "opt_in":
		return turn.OptIn{}
	case "resume":
		return turn.Resume{Answer: text(t, d, "answer") != "false"}
	case "lead":
		return turn.LeadName{To: text(t, d, "to"), Fresh: d.HasArg("fresh")}
	case "unlead":
		return turn.FreeName{From: text(t, d, "from")}
	case "claim":
		return turn.ClaimName{Name: text(t, d, "name")}
	case "adopt":
		return turn.AdoptName{Name: text(t, d, "name"), Key: d.HasArg("key")}
	case "drop":
		return turn.DropName{Name: text(t, d, "name")}
	case "reset":
		return turn.Reset{Reason: text(t, d, "reason")}
	case "human":
		return turn.HumanReply{
			Parts: number(t, d, "parts", 1), Beside: d.HasArg("beside"), Sent: d.HasArg("was_sent"),
			Claims: d.HasArg("id"), PauseFor: optional(t, d, "pause_for"),
		}
	case "requeue":
		return turn.Requeue{}
	case "resend":
		return turn.Resend{Turn: int64(number(t, d, "turn", 1))}
	case "mark_sent":
		return turn.MarkSent{Turn: int64(number(t, d, "turn", 1))}
	case "seal":
		return turn.Seal{Token: int64(number(t, d, "token", int(s.record.Lease.Token)))}
	}
	t.Fatalf("%s: unknown event %q", d.Pos, kind)
	return nil
}

func (s *story) readResult(t *testing.T, d *datadriven.TestData, kind string) turn.Event {
	nonce := s.record.Lease.Nonce
	if d.HasArg("nonce") {
		nonce = text(t, d, "nonce")
	}
	part, reason := 0, text(t, d, "error")
	if s.record.Reply != nil {
		part = number(t, d, "part", s.record.Reply.Done)
	}
	after, jitter := optional(t, d, "after"), number(t, d, "jitter", 0)
	var firstByte turn.Time
	if d.HasArg("first_byte") {
		firstByte = start.Add(optional(t, d, "first_byte"))
	}
	switch kind {
	case "renew":
		return turn.Renew{Nonce: nonce}
	case "hand_back":
		return turn.HandBack{Nonce: nonce}
	case "interrupted":
		return turn.Interrupted{Nonce: nonce}
	case "generated":
		return turn.Generated{Nonce: nonce, Parts: number(t, d, "parts", 1), FirstByte: firstByte, Waiting: s.ledger.waited}
	case "failed":
		return turn.GenerateFailed{Nonce: nonce, Fault: turn.Fault(text(t, d, "fault")), Text: reason, After: after, Jitter: jitter, Waiting: s.ledger.waited, History: d.HasArg("history")}
	case "sent":
		return turn.Sent{Nonce: nonce, Part: part, Pause: optional(t, d, "pause")}
	case "send_failed":
		return turn.SendFailed{Nonce: nonce, Part: part, ForGood: d.HasArg("for_good"), Text: reason, After: after, Jitter: jitter}
	}
	return turn.SendUnknown{Nonce: nonce, Part: part, Text: reason, Jitter: jitter}
}

// text reads an argument that may be absent.
func text(t *testing.T, d *datadriven.TestData, key string) string {
	var value string
	d.MaybeScanArgs(t, key, &value)
	return value
}

func number(t *testing.T, d *datadriven.TestData, key string, otherwise int) int {
	value := text(t, d, key)
	if value == "" {
		return otherwise
	}
	n, err := strconv.Atoi(value)
	if err != nil {
		t.Fatalf("%s: %v", d.Pos, err)
	}
	return n
}

func optional(t *testing.T, d *datadriven.TestData, key string) time.Duration {
	if value := text(t, d, key); value != "" {
		return duration(t, d, value)
	}
	return 0
}

func duration(t *testing.T, d *datadriven.TestData, value string) time.Duration {
	parsed, err := time.ParseDuration(value)
	if err != nil {
		t.Fatalf("%s: %v", d.Pos, err)
	}
	return parsed
}
