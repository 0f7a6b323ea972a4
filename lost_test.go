package onereply_test

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onereply/onereply"
)

// Who names an event that this node does not know is told that some are lost, gets
// nothing again, and goes on with what is new, also after the connection breaks once more.
func TestUnknownEventsAreNotReplayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, settings{bot: onereply.Bot{Debounce: time.Hour, MaxWait: time.Hour}})
		defer w.close()
		first := w.nodes[0].Subscribe(onereply.EventQuery{})
		defer first.Close()
		w.say(0, "m1")
		synctest.Wait()
		known := (<-first.Events).ID
		for _, id := range []string{"unknown", "1-1", known + "0000", "-", "€", "x" + known} {
			s := w.nodes[0].Subscribe(onereply.EventQuery{After: id})
			synctest.Wait()
			if n := len(s.Events); n != 1 {
				t.Fatalf("after %q there are %d events, want one that says that some are lost", id, n)
			}
			lost := <-s.Events
			if lost.Type != "events.lost" || lost.ID == "" || lost.Text != "" || lost.MessageID != "" {
				t.Errorf("after %q: %+v", id, lost)
			}
			w.say(0, "new"+id)
			if got := types(s); len(got) == 0 || got[0] != "message.accepted" {
				t.Errorf("what is new after %q: %q", id, got)
			}
			s.Close()
			again := w.nodes[0].Subscribe(onereply.EventQuery{After: lost.ID})
			if got := types(again); len(got) == 0 || got[0] != "message.accepted" {
				t.Errorf("resumed after the event that said so: %q", got)
			}
			again.Close()
		}
	})
}

// However many readers come back at once, and however much is kept, they hold a bounded
// number of bytes, and nobody waits for them.
func TestManyReadersThatComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, settings{bot: onereply.Bot{Debounce: time.Hour, MaxWait: time.Hour}})
		defer w.close()
		first := w.nodes[0].Subscribe(onereply.EventQuery{})
		w.say(0, "first")
		synctest.Wait()
		known := (<-first.Events).ID
		first.Close()
		for i := range 9000 {
			w.say(0, fmt.Sprint("m", i))
		}
		before := heap()
		var readers []*onereply.Subscription
		for range 100 {
			readers = append(readers, w.nodes[0].Subscribe(onereply.EventQuery{After: "unknown"}), w.nodes[0].Subscribe(onereply.EventQuery{After: known}))
		}
		synctest.Wait()
		if grown := int64(heap()) - int64(before); grown > 16<<20 {
			t.Errorf("200 readers that take nothing hold %d MiB", grown>>20)
		}
		for _, s := range readers {
			s.Close()
		}
	})
}

// A reader that is slower than all is not cut off: it goes on where it was, and is told
// once where that is not kept any more.
func TestAReaderThatIsFarBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, settings{bot: onereply.Bot{Debounce: time.Hour, MaxWait: time.Hour}})
		defer w.close()
		slow := w.nodes[0].Subscribe(onereply.EventQuery{})
		defer slow.Close()
		for i := range 9000 { // two events each
			w.say(0, fmt.Sprint("m", i))
		}
		got := types(slow)
		if lost := slices.Index(got, "events.lost"); lost < 1 || lost != len(got)-1 {
			t.Errorf("%d events, of which the one that tells of lost ones is number %d", len(got), lost)
		}
		w.say(0, "last")
		if got := types(slow); len(got) == 0 || got[0] != "message.accepted" {
			t.Errorf("what is new: %q", got)
		}
	})
}

// Nothing of a conversation that is deleted is shown to who resumes, and it is told that it
// was.
func TestADeletedConversationLeavesNoEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, settings{})
		defer w.close()
		all := w.nodes[0].Subscribe(onereply.EventQuery{})
		defer all.Close()
		w.say(0, "m1")
		rest(time.Minute)
		first := read(all)[0].ID
		if err := w.nodes[0].Forget(t.Context(), "bot", "c"); err != nil {
			t.Fatal(err)
		}
		if got := types(all); !slices.Equal(got, []string{"conversation.deleted"}) {
			t.Errorf("told %q", got)
		}
		again := w.nodes[0].Subscribe(onereply.EventQuery{After: first})
		defer again.Close()
		for _, e := range read(again) {
			if e.Text != "" || e.Reason != "" || e.Bot != "bot" || e.Conversation != "c" {
				t.Errorf("left over: %+v", e)
			}
		}
	})
}

// heap is what is in use.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
