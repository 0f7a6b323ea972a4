package onereply_test

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/store/memory"
)

// TestRevokedOnAllNodes: at once here, within moments on others, on those that heard nothing
// and on those that start later once the next report comes; and no longer than it must.
func TestRevokedOnAllNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared, b := memory.New(), newBus()
		defer shared.Close()
		joined := b.join(shared)
		deaf := joined.(*onBus)
		one, two := b.node(t, shared, "one", onereply.Bot{}), onBusWith(t, joined, "two", onereply.Bot{}, slog.DiscardHandler)
		defer closeAll([]*onereply.App{one, two})
		time.Sleep(time.Minute)
		one.Revoke("a", time.Now().Add(time.Hour))
		if !one.Revoked("a") || one.Revoked("b") {
			t.Error("the node itself does not know it")
		}
		time.Sleep(200 * time.Millisecond)
		if !two.Revoked("a") {
			t.Error("another node does not know it")
		}
		deaf.deaf.Store(true)
		one.Revoke("b", time.Now().Add(time.Hour))
		time.Sleep(time.Second)
		deaf.deaf.Store(false)
		time.Sleep(5 * time.Second)
		if !two.Revoked("b") {
			t.Error("a broadcast that was lost is not made good")
		}
		_ = one.Close()
		late := b.node(t, shared, "late", onereply.Bot{})
		defer late.Close()
		time.Sleep(6 * time.Second)
		if !late.Revoked("a") || !late.Revoked("b") {
			t.Error("a node that starts later does not learn of it")
		}
		time.Sleep(time.Hour)
		if two.Revoked("a") || late.Revoked("b") {
			t.Error("it is kept beyond its end")
		}
	})
}
