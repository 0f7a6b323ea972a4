package turn_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/onereply/onereply/turn"
)

// TestAnyLife plays random lives of a conversation under random policies,
// checks every step, and then stops all faults: from wherever it got, the
// conversation comes to rest with everything settled. Each type of event that there is
// occurs, but for a short run, which has too few lives. More of it: `go test ./turn -run TestAnyLife -rapid.checks=10000`.
func TestAnyLife(t *testing.T) {
	happened := map[string]int{}
	for family := range 4 {
		t.Run(fmt.Sprint(family), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { live(t, happened) })
		})
	}
	for _, event := range eventTypes(t) {
		if happened[event] == 0 && !testing.Short() && event != "TakeDuty" && event != "Spend" { // which are for records of their own: see TestDutyIsHadByOne, TestABudgetIsNeverExceeded
			t.Errorf("no life has a %s", event)
		}
	}
	t.Log(happened)
}

// eventTypes are the types of events that the source has.
func eventTypes(t *testing.T) (names []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "event.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, declaration := range file.Decls {
		if f, ok := declaration.(*ast.FuncDecl); ok && f.Name.Name == "event" {
			names = append(names, f.Recv.List[0].Type.(*ast.Ident).Name)
		}
	}
	if len(names) < 30 {
		t.Fatalf("only these events were found: %v", names)
	}
	return names
}

func live(t *rapid.T, happened map[string]int) {
	w := drawWorld(t)
	w.happened = happened
	actions := w.people()
	for name, action := range w.workers() {
		actions[name] = action
	}
	for range 2 { // rapid's lives are short
		t.Repeat(actions)
	}
	w.settleAll(t)
}

// often gives actions more weight, so that lives get far: rapid draws each
// name equally.
func often(actions map[string]func(*rapid.T), times int, names ...string) map[string]func(*rapid.T) {
	for _, name := range names {
		for n := range times {
			actions[fmt.Sprintf("%s (%d)", name, n)] = actions[name]
		}
	}
	return actions
}

// must applies an event and fails the test where a law is broken.
func (w *world) must(t *rapid.T, event turn.Event, touched *message) turn.Effects {
	w.happened[strings.TrimPrefix(fmt.Sprintf("%T", event), "turn.")]++
	effects, err := w.apply(event, touched)
	if err != nil {
		t.Fatal(err)
	}
	return effects
}

// people is what people do: they write, change and take back, and step in.
func (w *world) people() map[string]func(*rapid.T) {
	word := func(events ...turn.Event) func(*rapid.T) {
		return func(t *rapid.T) { w.must(t, rapid.SampledFrom(events).Draw(t, "event"), nil) }
	}
	somebody := func(t *rapid.T) string { return rapid.SampledFrom([]string{"ann", "ann", "bob"}).Draw(t, "sender") }
	message := func(t *rapid.T) {
		w.ledger.sender = somebody(t)
		quiet := time.Duration(rapid.SampledFrom([]int{0, 0, 0, 1, 60}).Draw(t, "quiet")) * time.Second
		m := turn.Message{Quiet: quiet, Media: rapid.IntRange(0, 3).Draw(t, "media") == 3, Bytes: rapid.IntRange(1, 4).Draw(t, "bytes"), Early: w.keptEdit(t)}
		switch rapid.IntRange(0, 11).Draw(t, "kind") {
		case 8:
			m.Context = true
		case 9:
			m.Unaddressed = true
		case 10:
			m.Bot = true
		case 11:
			m.SentAt = w.now.Add(-time.Minute)
		}
		w.must(t, m, nil)
	}
	resetWord := func(t *rapid.T) {
		w.must(t, turn.Message{Closes: turn.EndedReset}, nil)
	}
	return often(map[string]func(*rapid.T){
		"message":    message,
		"reset word": resetWord,
		"edit": func(t *rapid.T) {
			m := w.anyMessage(t)
			w.must(t, m.change(false, rapid.Bool().Draw(t, "media"), false), m)
		},
		"delete": func(t *rapid.T) {
			m := w.anyMessage(t)
			w.must(t, m.change(true, false, false), m)
		},
		"stop word": func(t *rapid.T) {
			w.ledger.sender = somebody(t)
			word := w.ledger.stopWord(w.record, nil)
			word.OptOut, word.Early = rapid.IntRange(0, 3).Draw(t, "opts out") == 3, w.keptEdit(t)
			if rapid.IntRange(0, 5).Draw(t, "old") == 5 {
				word.SentAt = w.now.Add(-time.Minute)
			}
			w.must(t, word, nil)
		},
		"early change": func(t *rapid.T) {
			w.must(t, turn.Early{Seq: w.keptEdit(t), Deleted: rapid.IntRange(0, 2).Draw(t, "deleted") == 2}, nil)
		},
		"edit into a stop word": func(t *rapid.T) {
			if m := w.anyMessage(t); m.status == turn.InputPending {
				w.must(t, w.ledger.stopWord(w.record, m), m)
			}
		},
		"typing": func(t *rapid.T) {
			w.must(t, turn.Typing{For: time.Duration(rapid.IntRange(0, 9).Draw(t, "for")) * time.Second}, nil)
		},
		"name": word(turn.AdoptName{Name: "a"}, turn.AdoptName{Name: "b", Key: true}, turn.AdoptName{Key: true}, turn.DropName{Name: "a"},
			turn.DropName{Name: "b"}, turn.ClaimName{Name: "a"}, turn.ClaimName{}),
		"name another": func(t *rapid.T) {
			if w.record.Empty() && rapid.IntRange(0, 3).Draw(t, "alias") < 3 {
				t.Skip("it would become an alias, to which little happens")
			}
			w.must(t, rapid.SampledFrom([]turn.Event{turn.LeadName{To: "c"}, turn.LeadName{To: "d", Fresh: true}, turn.FreeName{From: "c"}}).Draw(t, "event"), nil)
		},
		"pause":   word(turn.Pause{}, turn.Pause{For: 3 * time.Second}, turn.OptOut{}, turn.OptIn{}),
		"resume":  word(turn.Resume{Answer: true}, turn.Resume{Answer: true}, turn.Resume{}),
		"step in": word(turn.Flush{}, turn.Flush{}, turn.Requeue{}, turn.Reset{}),
		"human": func(t *rapid.T) {
			w.must(t, turn.HumanReply{
				Parts: rapid.IntRange(1, 2).Draw(t, "parts"), Beside: rapid.Bool().Draw(t, "beside"), Sent: rapid.IntRange(0, 3).Draw(t, "sent") == 3,
				Claims: rapid.Bool().Draw(t, "id"), PauseFor: time.Duration(rapid.SampledFrom([]int{0, 0, 0, 3, 60}).Draw(t, "pause for")) * time.Second,
			}, nil)
		},
		"report": func(t *rapid.T) {
			var told []*reply
			for _, r := range w.ledger.replies {
				if r.turn != 0 {
					told = append(told, r)
				}
			}
			if len(told) == 0 {
				t.Skip("there is no reply")
			}
			slices.SortFunc(told, func(a, b *reply) int { return int(a.seq - b.seq) })
			r := rapid.SampledFrom(told).Draw(t, "reply")
			receipt := rapid.SampledFrom([]turn.Receipt{turn.ReceiptFailed, turn.ReceiptDelivered, turn.ReceiptRead}).Draw(t, "receipt")
			w.must(t, r.report(rapid.IntRange(0, r.parts).Draw(t, "part"), receipt), nil)
		},
		"see to a trouble": func(t *rapid.T) {
			number := w.unconfirmed(t)
			w.must(t, rapid.SampledFrom([]turn.Event{turn.Resend{Turn: number}, turn.MarkSent{Turn: number}}).Draw(t, "remedy"), nil)
		},
	}, 3, "message", "edit")
}

// anyMessage is the target of an edit or a deletion: one that was not deleted, nor,
// behind the mark that a requeue set back, is known to be settled.
func (w *world) anyMessage(t *rapid.T) *message {
	var there []*message
	for _, m := range w.ledger.messages {
		if m.status == turn.InputPending || m.status != turn.InputDeleted && m.status != turn.InputContext && m.version <= w.record.Answered {
			there = append(there, m)
		}
	}
	if len(there) == 0 {
		t.Skip("nothing was written")
	}
	return rapid.SampledFrom(there).Draw(t, "target")
}

// keptEdit is the sequence of an edit that is kept for a message, 0 for one for which none
// is.
func (w *world) keptEdit(t *rapid.T) int64 {
	sequences := []int64{0}
	for _, kept := range w.record.Early {
		sequences = append(sequences, kept.Seq)
	}
	return rapid.SampledFrom(sequences).Draw(t, "kept edit")
}

// unconfirmed is the turn of a reply that needs somebody, or of none.
func (w *world) unconfirmed(t *rapid.T) int64 {
	turns := []int64{w.record.Turn}
	for _, u := range w.record.Unconfirmed {
		turns = append(turns, u.Turn)
	}
	return rapid.SampledFrom(turns).Draw(t, "turn")
}

// workers is what nodes and time do: they look, work, fail, are lost, and come
// back too late.
func (w *world) workers() map[string]func(*rapid.T) {
	seal := func(t *rapid.T) {
		late := rapid.SampledFrom([]int64{0, 0, 0, 1}).Draw(t, "late")
		w.must(t, turn.Seal{Token: w.record.Token - late}, nil)
	}
	return often(map[string]func(*rapid.T){
		"wait": func(t *rapid.T) { w.now += turn.Time(rapid.IntRange(-2000, 6000).Draw(t, "ms")) },
		"wake": func(t *rapid.T) { w.look(t, rapid.IntRange(0, 9).Draw(t, "alone") == 9) },
		"wake when due": func(t *rapid.T) {
			if at, ok := w.record.Wake(); ok {
				w.now = max(w.now, at)
			}
			w.look(t, false)
		},
		"wake a moment early": func(t *rapid.T) {
			if at, ok := w.record.Wake(); ok {
				w.now = max(w.now, at-1)
			}
			w.look(t, false)
		},
		"look":       func(t *rapid.T) { w.must(t, turn.CheckSign{}, nil) },
		"seal":       seal,
		"seal again": seal,
		"work":       w.work,
		"trouble":    w.failure,
	}, 5, "wake when due", "work", "trouble")
}

// look is a wake-up with a fresh nonce.
func (w *world) look(t *rapid.T, alone bool) turn.Effects {
	w.leases++
	moved := rapid.Bool().Draw(t, "moved")
	lone := rapid.SampledFrom([]bool{true, true, true, false}).Draw(t, "lone")
	return w.must(t, turn.Wake{Holder: "node", Nonce: fmt.Sprint("lease ", w.leases), Alone: alone, Lone: lone, Moved: moved}, nil)
}

// work is the next good result of whoever holds the lease, or of a stranger.
func (w *world) work(t *rapid.T) {
	if w.record.Phase == turn.Sending {
		w.must(t, turn.Sent{Nonce: w.nonce(t), Part: w.part(t)}, nil)
		return
	}
	parts := rapid.SampledFrom([]int{1, 2, 2, 0}).Draw(t, "parts")
	w.must(t, turn.Generated{Nonce: w.nonce(t), Parts: parts, Waiting: w.ledger.waited}, nil)
}

// failure is any other result.
func (w *world) failure(t *rapid.T) {
	nonce, after := w.nonce(t), time.Duration(rapid.IntRange(0, 90).Draw(t, "after"))*time.Second
	jitter := rapid.IntRange(0, 999).Draw(t, "jitter")
	events := []turn.Event{
		turn.Renew{Nonce: nonce},
		turn.Interrupted{Nonce: nonce},
		turn.GenerateFailed{Nonce: nonce, Fault: turn.Outage, Text: "outage", After: after, Jitter: jitter},
		turn.GenerateFailed{Nonce: nonce, Fault: turn.Failure, Text: "failure", After: after, Jitter: jitter},
		turn.GenerateFailed{Nonce: nonce, Fault: turn.Rejected, Text: "rejected", Jitter: jitter},
		turn.GenerateFailed{Nonce: nonce, Fault: turn.Refused, Text: "refused", Waiting: w.ledger.waited, History: jitter%2 == 0},
		turn.GenerateFailed{Nonce: nonce, Fault: turn.Refused, Text: "refused", Waiting: w.ledger.waited},
		turn.GenerateFailed{Nonce: nonce, Fault: turn.TooLarge, Waiting: w.ledger.waited},
		turn.HandBack{Nonce: nonce},
	}
	if w.record.Phase == turn.Sending {
		part := w.part(t)
		events = []turn.Event{
			turn.Renew{Nonce: nonce},
			turn.SendFailed{Nonce: nonce, Part: part, Text: "busy", After: after, Jitter: jitter},
			turn.SendFailed{Nonce: nonce, Part: part, Text: "blocked", ForGood: true},
			turn.SendUnknown{Nonce: nonce, Part: part, Text: "time-out", Jitter: jitter},
			turn.HandBack{Nonce: nonce},
		}
	}
	w.must(t, rapid.SampledFrom(events).Draw(t, "event"), nil)
}

// nonce is mostly the live one.
func (w *world) nonce(t *rapid.T) string {
	if stranger := rapid.IntRange(0, 9).Draw(t, "stranger"); stranger > 7 {
		return fmt.Sprint("lease ", w.leases-stranger+7)
	}
	return w.record.Lease.Nonce
}

// part is mostly the current one.
func (w *world) part(t *rapid.T) int {
	return w.record.Reply.Done + rapid.SampledFrom([]int{0, 0, 0, 0, 0, -1, 1}).Draw(t, "part")
}

// settleAll stops all faults: wake-ups come, the model and the channel work, and
// whoever paused or failed lets it go on. Everything is settled within a few
// steps.
func (w *world) settleAll(t *rapid.T) {
	if w.record.LeadsTo != "" {
		w.must(t, turn.FreeName{From: w.record.LeadsTo}, nil)
	}
	if w.record.OptedOut || w.record.OnHold && w.record.PausedUntil == 0 { // any other pause ends by itself
		w.must(t, turn.Resume{Answer: true}, nil)
	}
	for limit := 20 + 4*len(w.record.Queue) + 4*len(w.record.Unconfirmed); w.record.Shown() != turn.Idle; limit-- {
		if limit == 0 {
			t.Fatalf("it does not come to rest: %+v", w.record)
		}
		at, wakes := w.record.Wake()
		if !wakes {
			w.must(t, turn.Requeue{}, nil)
			continue
		}
		w.now = max(w.now, at)
		w.carryOut(t, w.look(t, false))
	}
	for _, m := range w.ledger.messages {
		if m.status == turn.InputPending {
			t.Fatalf("%s was never settled", m.id)
		}
	}
}

// carryOut does the work that a step asked for, and what follows from it.
func (w *world) carryOut(t *rapid.T, effects turn.Effects) {
	for _, action := range effects.Actions {
		switch a := action.(type) {
		case turn.Run:
			w.carryOut(t, w.must(t, turn.Generated{Nonce: a.Lease.Nonce, Parts: 2, Waiting: w.ledger.waited}, nil))
		case turn.Send:
			w.carryOut(t, w.must(t, turn.Sent{Nonce: a.Lease.Nonce, Part: a.Reply.Done}, nil))
		}
	}
}
