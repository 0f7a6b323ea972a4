package onereply_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onereply/onereply"
)

// moments is a moment of each phase of a turn that begins with a message at 0:
// the window ends after two seconds, the model takes five, and the first send
// fails, so that the reply waits for its next try.
var moments = map[onereply.Phase]time.Duration{
	onereply.PhaseCollecting: time.Second, onereply.PhaseGenerating: 4 * time.Second, onereply.PhaseSending: 7100 * time.Millisecond, onereply.PhaseIdle: 20 * time.Second,
}

func newMoments(t *testing.T) (*world, *receiver) {
	r := &receiver{wrong: []func(context.Context) error{giving(onereply.NotDeliveredError(errAway))}}
	return newWorld(t, settings{model: 5 * time.Second, bot: onereply.Bot{Debounce: 2 * time.Second, Sender: r}}), r
}

// A paused conversation keeps what comes, and answers nothing; resumed, it
// answers all of it or none, as it is told.
func TestPauseInEachPhase(t *testing.T) {
	for phase, at := range moments {
		for _, answer := range []bool{true, false} {
			t.Run(fmt.Sprint(phase, " answer=", answer), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w, r := newMoments(t)
					defer w.close()
					w.say(0, "m")
					w.until(at)
					synctest.Wait()
					w.wantPhase(phase)
					sent := len(r.tries)
					if s, err := w.nodes[0].Pause(t.Context(), "bot", "c", onereply.Pause{Reason: "on call"}); err != nil || s.Phase != onereply.PhasePaused || s.PauseReason != "on call" {
						t.Fatalf("paused: %+v, %v", s, err)
					}
					w.say(0, "n")
					rest(time.Minute)
					if len(r.tries) != sent {
						t.Errorf("while it was paused, %q was sent", r.tries[sent:])
					}
					if _, err := w.nodes[0].Resume(t.Context(), "bot", "c", answer); err != nil {
						t.Fatal(err)
					}
					rest(time.Minute)
					want := map[bool]string{true: "m n", false: ""}[answer]
					if phase == onereply.PhaseIdle && answer {
						want = "n" // m was answered before
					}
					if got := strings.Join(slices.Compact(after(r.tries[sent:])), " | "); got != want {
						t.Errorf("after it was resumed, %q was sent, want %q", got, want)
					}
					w.wantPhase(onereply.PhaseIdle)
				})
			})
		}
	}
}

// after is what stands behind the colon of what a receiver noted.
func after(tries []string) (texts []string) {
	for _, try := range tries {
		_, text, _ := strings.Cut(try, ": ")
		texts = append(texts, text)
	}
	return texts
}

// A human's reply settles what waits, in each phase, and is what the person
// gets, also while the conversation is paused.
func TestAHumansReplyInEachPhase(t *testing.T) {
	for phase, at := range moments {
		for _, paused := range []bool{true, false} {
			t.Run(fmt.Sprint(phase, " paused=", paused), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w, r := newMoments(t)
					defer w.close()
					w.say(0, "m")
					w.until(at)
					synctest.Wait()
					sent := len(r.tries)
					if paused {
						w.nodes[0].Pause(t.Context(), "bot", "c", onereply.Pause{})
					}
					receipt, err := w.nodes[0].Answer(t.Context(), "bot", "c", onereply.HumanReply{Text: "I see."})
					if err != nil || receipt.Outcome != onereply.OutcomeQueued || !strings.HasPrefix(receipt.MessageID, "c/") {
						t.Fatalf("answered: %+v, %v", receipt, err)
					}
					rest(2 * time.Minute)
					if got := after(r.tries[sent:]); len(got) == 0 || got[len(got)-1] != "I see." || len(slices.Compact(got)) != 1 {
						t.Errorf("sent %q, want the human's reply", got)
					}
					if s := w.state(0); s.Pending != 0 || s.Lease != nil {
						t.Errorf("not settled: %+v", s)
					}
				})
			})
		}
	}
}

// While a person is typing the window stays open, up to its cap; a flush ends
// it at once.
func TestTypingAndFlush(t *testing.T) {
	tests := map[string]struct {
		do  func(w *world)
		due time.Duration
	}{
		"nothing":               {func(*world) {}, 2 * time.Second},
		"typing for a debounce": {func(w *world) { w.typing(0) }, 3 * time.Second},
		"typing for longer":     {func(w *world) { w.typing(5 * time.Second) }, 6 * time.Second},
		"typing for too long":   {func(w *world) { w.typing(time.Minute) }, 10 * time.Second},
		"typing that ends":      {func(w *world) { w.typing(time.Millisecond) }, 2 * time.Second},
		"a flush":               {func(w *world) { w.nodes[0].Flush(w.t.Context(), "bot", "c") }, time.Second},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, settings{bot: onereply.Bot{Debounce: 2 * time.Second, MaxWait: 10 * time.Second}})
				defer w.close()
				w.say(0, "m")
				w.until(time.Second)
				test.do(w)
				rest(time.Minute)
				if got := w.sent[0].at; got < test.due || got > test.due+10*time.Millisecond {
					t.Errorf("answered after %v, want %v", got, test.due)
				}
			})
		})
	}
}

func (w *world) typing(d time.Duration) {
	w.t.Helper()
	if err := w.nodes[0].Typing(w.t.Context(), "bot", "c", d); err != nil {
		w.t.Error(err)
	}
}

// A message whose attachment is still being processed waits for it, up to a
// cap; the edit that completes it does not start the quiet time again.
func TestAttachmentsThatAreStillProcessed(t *testing.T) {
	for name, test := range map[string]struct {
		ready time.Duration
		due   time.Duration
	}{"in time": {5 * time.Second, 5 * time.Second}, "never": {0, 15 * time.Second}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, settings{})
				defer w.close()
				voice := onereply.Message{ID: "m", Attachments: []onereply.Attachment{{Kind: "voice", Pending: true}}}
				if _, err := w.nodes[0].Receive(t.Context(), "bot", "c", voice); err != nil {
					t.Fatal(err)
				}
				if test.ready > 0 {
					w.until(test.ready)
					if _, err := w.nodes[0].Edit(t.Context(), "bot", "c", "m", onereply.Edit{Text: new("what was said")}); err != nil {
						t.Fatal(err)
					}
				}
				rest(time.Minute)
				if got := w.sent[0].at; got < test.due || got > test.due+10*time.Millisecond {
					t.Errorf("answered after %v, want %v", got, test.due)
				}
			})
		})
	}
}

func TestWordsThatStop(t *testing.T) {
	for text, want := range map[string]onereply.Phase{"Never mind": onereply.PhaseIdle, "stop": onereply.PhasePaused, "stopp": onereply.PhaseCollecting} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, settings{bot: onereply.Bot{StopWords: []string{"never mind"}, OptOutWords: []string{"STOP"}}})
			defer w.close()
			w.say(0, "m")
			if _, err := w.nodes[0].Receive(t.Context(), "bot", "c", onereply.Message{Text: text}); err != nil {
				t.Fatal(err)
			}
			w.wantPhase(want)
		})
	}
}

// What is no input is acknowledged, and changes nothing.
func TestWhatIsNoInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, settings{})
		defer w.close()
		for reason, m := range map[string]onereply.Message{
			onereply.ReasonOwnMessage: {Text: "hello", FromMe: true}, onereply.ReasonNotAddressed: {Text: "hello", Unaddressed: true},
		} {
			r, err := w.nodes[0].Receive(t.Context(), "bot", "c", m)
			if err != nil || r.Outcome != onereply.OutcomeIgnored || r.Reason != reason || r.Version != 0 {
				t.Errorf("%s: %+v, %v", reason, r, err)
			}
		}
		if got := w.nodes[0].Stats(); got.Ignored != 2 || got.Accepted != 0 {
			t.Errorf("counted %+v", got)
		}
	})
}

// The parts of an album, and of a text that its client cut in two, are one
// burst although the debounce is shorter.
func TestWhatBelongsTogether(t *testing.T) {
	tests := map[string]onereply.Message{
		"an album":   {Text: "photo", Group: "album"},
		"a cut text": {Text: strings.Repeat("x", 4096)},
	}
	for name, m := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, settings{bot: onereply.Bot{Debounce: onereply.Zero, SplitAt: 4000}})
				defer w.close()
				for _, id := range []string{"m1", "m2", "m3"} {
					m.ID = id
					if _, err := w.nodes[0].Receive(t.Context(), "bot", "c", m); err != nil {
						t.Fatal(err)
					}
					time.Sleep(900 * time.Millisecond)
				}
				rest(time.Minute)
				w.wantReplies("m1 m2 m3")
			})
		})
	}
}

// A transcript can be read from its end.
func TestTranscriptBackwards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, settings{bot: onereply.Bot{Debounce: time.Hour, MaxWait: time.Hour}})
		defer w.close()
		for i := range 5 {
			w.say(0, fmt.Sprint("m", i+1))
		}
		for _, test := range []struct {
			before int64
			limit  int
			want   string
		}{{0, 2, "m4 m5"}, {4, 2, "m2 m3"}, {2, 2, "m1"}, {1, 2, ""}, {0, 0, "m1 m2 m3 m4 m5"}} {
			page, err := w.nodes[0].TranscriptBefore(t.Context(), "bot", "c", test.before, test.limit)
			var ids []string
			for _, e := range page.Entries {
				ids = append(ids, e.ID)
			}
			if got := strings.Join(ids, " "); err != nil || got != test.want {
				t.Errorf("the last %d before %d: %q, %v, want %q", test.limit, test.before, got, err, test.want)
			}
		}
	})
}

// A page of a transcript ends early where its texts are long, and the next one goes on
// behind it: every entry is on one page, in both directions.
func TestTranscriptPagesAreBoundedInBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, settings{bot: onereply.Bot{Debounce: time.Hour, MaxWait: time.Hour}})
		defer w.close()
		var want []string
		for i := range 40 {
			id := fmt.Sprint("m", i+1)
			if _, err := w.nodes[0].Receive(t.Context(), "bot", "c", onereply.Message{ID: id, Text: strings.Repeat("x", onereply.MaxTextBytes)}); err != nil {
				t.Fatal(err)
			}
			want = append(want, id)
		}
		pages := func(read func(seq int64) (onereply.TranscriptPage, error), last func([]onereply.Entry) int64) (ids [][]string) {
			t.Helper()
			for seq := int64(0); ; {
				page, err := read(seq)
				if err != nil || len(page.Entries) == 0 || len(page.Entries)*onereply.MaxTextBytes > onereply.MaxPageBytes {
					t.Fatalf("a page of %d entries, %v", len(page.Entries), err)
				}
				var of []string
				for _, e := range page.Entries {
					of = append(of, e.ID)
				}
				if ids = append(ids, of); !page.More {
					return ids
				}
				seq = last(page.Entries)
			}
		}
		forward := pages(func(seq int64) (onereply.TranscriptPage, error) {
			return w.nodes[0].Transcript(t.Context(), "bot", "c", seq, 1000)
		}, func(e []onereply.Entry) int64 { return e[len(e)-1].Seq })
		backward := pages(func(seq int64) (onereply.TranscriptPage, error) {
			return w.nodes[0].TranscriptBefore(t.Context(), "bot", "c", seq, 1000)
		}, func(e []onereply.Entry) int64 { return e[0].Seq })
		slices.Reverse(backward)
		for _, got := range [][][]string{forward, backward} {
			if all := slices.Concat(got...); len(got) != 3 || !slices.Equal(all, want) {
				t.Errorf("%d pages: %q", len(got), all)
			}
		}
	})
}
