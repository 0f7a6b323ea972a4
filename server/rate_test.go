package server

import (
	"fmt"
	"math"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

const elsewhere = "/v1/bots/support/conversations/c2"

// send gives a message to a conversation, and returns what became of it.
func (s *Server) send(t *testing.T, path, key string) answer {
	t.Helper()
	return ask(t, s, "POST", path+"/messages", `{"text":"x"}`, bearer(key)...)
}

// wantTaken sends until one is refused.
func wantTaken(t *testing.T, s *Server, path, key string, want int) {
	t.Helper()
	for i := range want + 1 {
		if got := s.send(t, path, key); (got.status == http.StatusAccepted) != (i < want) {
			t.Fatalf("message %d: status %d, want %d to be taken\n%s", i+1, got.status, want, got.body)
		}
	}
}

// TestRates: each bound lets its burst in, then so many a second; a message that is refused
// reaches no App, and says when to come again.
func TestRates(t *testing.T) {
	for name, test := range map[string]struct {
		key      Rate
		bot      BotRates
		explains string
	}{
		"a key":          {key: Rate{PerSecond: 0.5, Burst: 3}, explains: "The key a takes 0.5 messages a second, and 3 at once"},
		"a bot":          {bot: BotRates{Bot: Rate{PerSecond: 0.5, Burst: 3}}, explains: "This bot takes"},
		"a conversation": {bot: BotRates{Conversation: Rate{PerSecond: 0.5, Burst: 3}}, explains: "This conversation takes"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				app := newFakeApp()
				s := New(app, Options{Keys: NewKeys(Key{Name: "a", Key: "alpha", Rate: test.key}, Key{Name: "b", Key: "beta"}),
					Settings: Settings{Rates: map[string]BotRates{"support": test.bot}}})
				wantTaken(t, s, here, "alpha", 3)
				calls := app.calls()
				got := s.send(t, here, "alpha")
				got.wantProblem(t, kindTooMany, "")
				if got.header.Get("Retry-After") != "2" || app.calls() != calls {
					t.Errorf("Retry-After %q, asked %d times", got.header.Get("Retry-After"), app.calls()-calls)
				}
				if detail, _ := got.json(t)["detail"].(string); len(detail) < len(test.explains) || detail[:len(test.explains)] != test.explains {
					t.Errorf("it says %q", detail)
				}
				if got := ask(t, s, "GET", here, "", bearer("alpha")...); got.status != http.StatusOK {
					t.Errorf("a call that is no message: status %d", got.status)
				}
				if got := ask(t, s, "DELETE", here+"/messages/m1", "", bearer("alpha")...); got.status != http.StatusTooManyRequests {
					t.Errorf("a deletion: status %d", got.status)
				}
				other := map[string][2]string{"a key": {here, "beta"}, "a bot": {"/v1/bots/gr%C3%B6%C3%9Fe%2F1/conversations/c1", "alpha"}, "a conversation": {elsewhere, "alpha"}}[name]
				for range 3 {
					if got := s.send(t, other[0], other[1]); got.status != http.StatusAccepted {
						t.Errorf("another one: status %d", got.status)
					}
				}
				time.Sleep(2 * time.Second)
				wantTaken(t, s, here, "alpha", 1)
				time.Sleep(time.Hour)
				wantTaken(t, s, here, "alpha", 3)
			})
		})
	}
}

// TestARefusedMessageTakesNothing from the buckets that would have let it in.
func TestARefusedMessageTakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(newFakeApp(), Options{Keys: plainKeys("alpha"), Settings: Settings{Rates: map[string]BotRates{
			"support": {Bot: Rate{PerSecond: 1, Burst: 5}, Conversation: Rate{PerSecond: 1, Burst: 2}}}}})
		wantTaken(t, s, here, "alpha", 2)
		for range 10 {
			s.send(t, here, "alpha")
		}
		for i := range 3 {
			if got := s.send(t, fmt.Sprintf("/v1/bots/support/conversations/o%d", i), "alpha"); got.status != http.StatusAccepted {
				t.Errorf("the bot had room for %d more: status %d", 3-i, got.status)
			}
		}
		s.send(t, "/v1/bots/support/conversations/o4", "alpha").wantProblem(t, kindTooMany, "")
	})
}

// TestABurstOfAnySize: how long such a bucket takes to fill up is no time.Duration.
func TestABurstOfAnySize(t *testing.T) {
	for burst := 1; burst <= math.MaxInt32/3; burst *= 3 {
		var r rates
		if err := r.take(time.Unix(1_800_000_000, 0), []demand{{name: bucketName{bot: "b"}, rate: Rate{PerSecond: 0.00001, Burst: burst}}}); err != nil {
			t.Errorf("burst %d: the first message is refused: %v", burst, err)
		}
	}
}

// TestRatesChangeWhileItRuns: a new bound holds at once.
func TestRatesChangeWhileItRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(newFakeApp(), Options{Keys: plainKeys("alpha")})
		for range 20 {
			s.send(t, here, "alpha")
		}
		s.Configure(Settings{Rates: map[string]BotRates{"support": {Bot: Rate{PerSecond: 3}}}})
		wantTaken(t, s, here, "alpha", 3)
		s.Configure(Settings{})
		if got := s.send(t, here, "alpha"); got.status != http.StatusAccepted {
			t.Errorf("status %d", got.status)
		}
	})
}

// TestMemoryOfRatesIsBounded: full buckets are dropped, and beyond the bound all share one.
func TestMemoryOfRatesIsBounded(t *testing.T) {
	var r rates
	now := time.Unix(1_800_000_000, 0)
	one := func(i int) []demand {
		return []demand{{name: bucketName{bot: "b", conversation: fmt.Sprint(i)}, rate: Rate{PerSecond: 1, Burst: 2}}}
	}
	for i := range 10_000 { // each is full again after a second
		if err := r.take(now, one(i)); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Millisecond)
	}
	if n := len(r.buckets); n > 2100 {
		t.Errorf("%d buckets are kept, of which about 1000 are not full", n)
	}
	taken := 0
	for i := range maxBuckets + 1000 {
		if r.take(now, one(-i)) == nil {
			taken++
		}
	}
	if n := len(r.buckets); n > maxBuckets+1 {
		t.Errorf("%d buckets are kept", n)
	}
	if taken >= maxBuckets+1000 {
		t.Error("those beyond the bound do not share one")
	}
	if err := r.take(now.Add(time.Minute), one(1)); err != nil {
		t.Errorf("later: %v", err)
	}
}
