package server

import (
	"net/url"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const sealPath = here + "/turns/7/seal"

// seal asks for a seal with a grant in its address.
func seal(t *testing.T, s *Server, path, grant string, header ...string) answer {
	t.Helper()
	return ask(t, s, "POST", path+"?"+url.Values{grantField: {grant}}.Encode(), "", header...)
}

// TestAGrantOpensItsAttempt and no other, no other call, and nothing after its time.
func TestAGrantOpensItsAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys := plainKeys("alpha", "beta")
		app := newFakeApp()
		s := New(app, Options{Keys: keys})
		until := time.Now().Add(time.Hour)
		good := keys.SealGrant("support", "c1", 7, until)
		if got := seal(t, s, sealPath, good); got.status != 200 {
			t.Fatalf("status %d\n%s", got.status, got.body)
		}
		if want := (call{"seal", "support", "c1", int64(7)}); app.lastCall() != want {
			t.Errorf("asked %+v, want %+v", app.lastCall(), want)
		}
		calls := app.calls()
		for _, path := range []string{here + "/turns/8/seal", "/v1/bots/support/conversations/c2/turns/7/seal", "/v1/bots/gr%C3%B6%C3%9Fe%2F1/conversations/c1/turns/7/seal", here + "/turns/x/seal"} {
			seal(t, s, path, good).wantProblem(t, kindUnauthorized, "")
		}
		for _, r := range s.router.routes {
			if r.access == byKey && !r.byGrant {
				path := strings.NewReplacer("{bot}", "support", "{conversation}", "c1", "{token}", "7").Replace(r.pattern)
				if got := ask(t, s, r.method, path+"?grant="+good, ""); got.status != 401 {
					t.Errorf("%s %s with a grant: status %d", r.method, r.pattern, got.status)
				}
			}
		}
		seal(t, s, sealPath, good, bearer("wrong")...).wantProblem(t, kindUnauthorized, "")
		for i := range len(good) {
			changed := []byte(good)
			changed[i] ^= 1
			seal(t, s, sealPath, string(changed)).wantProblem(t, kindUnauthorized, "")
		}
		for _, forged := range []string{good[1:], good + "A", strings.Repeat("A", len(good)), "alpha"} {
			seal(t, s, sealPath, forged).wantProblem(t, kindUnauthorized, "")
		}
		time.Sleep(time.Until(until))
		if got := seal(t, s, sealPath, good); got.status != 401 || !strings.Contains(got.body, "has expired") {
			t.Errorf("after its time: status %d\n%s", got.status, got.body)
		}
		if app.calls() != calls {
			t.Errorf("the App was asked: %+v", app.lastCall())
		}
	})
}

// TestAPartOfANameIsNoOther: where one name ends and the next begins is signed too.
func TestAPartOfANameIsNoOther(t *testing.T) {
	keys := plainKeys("alpha")
	until := time.Now().Add(time.Hour)
	if _, ok := keys.opens(keys.SealGrant("ab", "c", 7, until), "a", "bc", 7); ok {
		t.Error("the grant of ab, c opens a, bc")
	}
}

// TestWhoseKeyMakesGrants: only a key that may seal the bot's attempts can make a grant for
// them, every node that has it takes it, and it ends with the key.
func TestWhoseKeyMakesGrants(t *testing.T) {
	reader, mine, other := Key{Key: "reader", Can: []Right{Read}}, Key{Key: "mine", Can: []Right{Seal}}, Key{Key: "other", Bots: []string{"größe/1"}}
	until := time.Now().Add(time.Hour)
	opens := func(by, on *Keys) bool {
		_, ok := on.opens(by.SealGrant("support", "c", 1, until), "support", "c", 1)
		return ok
	}
	all := NewKeys(reader, mine, other)
	for _, test := range []struct {
		what   string
		by, on *Keys
		want   bool
	}{
		{"another node", NewKeys(reader, mine, other), all, true},
		{"a node on the way to a new key", NewKeys(mine, Key{Key: "new"}), NewKeys(mine), true},
		{"a node with the same keys in another order", NewKeys(other, mine), all, true},
		{"who has the reader's key", NewKeys(reader), all, false},
		{"who has the other bot's key", NewKeys(other), all, false},
		{"who has the key of a node that lost it", NewKeys(mine), NewKeys(reader, other), false},
		{"nodes where no key may seal it", NewKeys(other, reader), NewKeys(reader, other), true},
		{"who has one of these", NewKeys(reader), NewKeys(reader, other), false},
	} {
		if got := opens(test.by, test.on); got != test.want {
			t.Errorf("%s: %v, want %v", test.what, got, test.want)
		}
	}
	grant := all.SealGrant("support", "c", 1, until)
	all.Replace(reader, other)
	if _, ok := all.opens(grant, "support", "c", 1); ok {
		t.Error("the grant of a key that is gone opens its attempt")
	}
	if got := NewKeys().SealGrant("support", "c", 1, until); got != "" {
		t.Errorf("without keys there is the grant %s", got)
	}
	expired := NewKeys(Key{Key: "mine", Expires: time.Now()}, reader)
	if opens(NewKeys(mine), expired) {
		t.Error("an expired key still makes grants")
	}
}

func FuzzGrant(f *testing.F) {
	keys := plainKeys("alpha")
	good := keys.SealGrant("support", "c1", 7, time.Unix(1_800_000_000, 0))
	f.Add(good, "support", "c1", "7")
	f.Add(good, "suppor", "tc1", "7")
	f.Add("", "", "", "")
	f.Fuzz(func(t *testing.T, grant, bot, conversation, token string) {
		number, _ := strconv.ParseInt(token, 10, 64)
		if _, ok := keys.opens(grant, bot, conversation, number); ok && (grant != good || bot != "support" || conversation != "c1" || number != 7) {
			t.Errorf("%q opens %q, %q, %d", grant, bot, conversation, number)
		}
	})
}
