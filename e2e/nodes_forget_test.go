package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestRedisWithoutPersistence: a restart loses what docs/operations.md says,
// which is all that was stored, and nothing else: the nodes go on by themselves,
// what comes afterwards is answered once, and nothing is sent of what is gone.
func TestRedisWithoutPersistence(t *testing.T) {
	t.Parallel()
	e := redisWith(t)
	e.url.RawQuery = "shards=4" // not the default, so that a node that forgot it would show
	c := newTeam(t, e, 2, 30*time.Second)
	a, b := c.members[0], c.members[1]

	c.model.calm.Store(true)
	c.caller.mustSay(t, a.url, "support", "answered", "m1", "[m1] hello")
	c.answers(b, "answered", "[m1]")
	c.model.latency = func() time.Duration { return 3 * time.Second }
	c.begins("being written")
	e.crash(t)
	e.restart(t)
	c.model.calm.Store(true)

	c.says(b, "answered", "m2", false)
	c.answers(a, "answered", "[m1]", "[m2]")
	eventually(t, "the call ends that was under way", func() bool { return !c.call("being written", 1).ended.IsZero() })
	for _, m := range c.members {
		if got := c.messages(m, "answered"); !slices.Equal(got, []string{"m2"}) {
			t.Errorf("it holds %q, want only what came after the restart", got)
		}
		if got := c.caller.do(http.MethodGet, path(m.url, "support", "being written"), ""); got.status != http.StatusNotFound {
			t.Errorf("a conversation that is gone: %v", got)
		}
	}

	// A provider that delivers again is accepted anew: the ids are gone too.
	c.says(a, "answered", "m1", false)
	c.answers(b, "answered", "[m1]", "[m2]", "[m1]")
	c.says(b, "being written", "m1", false)
	c.answers(a, "being written", "[m1]")
	c.says(a, "being written", "m1", true)

	c.interrupts("hinted")
	c.joins(e)
	for _, m := range c.members {
		m.stops(t)
	}
}

// says sends a message until it is taken.
func (c *team) says(m *member, conversation, id string, duplicate bool) {
	c.t.Helper()
	eventually(c.t, "a message is taken", func() bool {
		got, ok, _ := c.caller.say(m.url, "support", conversation, id, "["+id+"] hello")
		if ok && got.Duplicate != duplicate {
			c.t.Errorf("%s/%s: duplicate is %v", conversation, id, got.Duplicate)
		}
		return ok
	})
}

// messages are the ids that a conversation holds.
func (c *team) messages(m *member, conversation string) (ids []string) {
	for _, l := range c.caller.read(c.t, m.url, "support", conversation) {
		if l.Kind == "message" {
			ids = append(ids, l.ID)
		}
	}
	return ids
}

// interrupts checks that a node still hears at once what another accepted.
func (c *team) interrupts(conversation string) {
	c.t.Helper()
	c.model.latency = func() time.Duration { return time.Hour }
	_, other := c.begins(conversation)
	c.model.calm.Store(true)
	said := time.Now()
	c.caller.mustSay(c.t, other.url, "support", conversation, "m2", "[m2] wait")
	eventually(c.t, "the call is cut off", func() bool { return !c.call(conversation, 1).ended.IsZero() })
	if took := c.call(conversation, 1).ended.Sub(said); took > 5*time.Second {
		c.t.Errorf("a call was interrupted after %v: that was no hint but the renewal", took)
	}
	c.answers(other, conversation, "[m1 m2]")
}

// joins lets one more node in, which must find what the others wrote, and
// refuses one that would look for it elsewhere.
func (c *team) joins(e engine) {
	c.t.Helper()
	wrong := *e.url
	wrong.RawQuery = "shards=8"
	late := c.join(teamConfig(c.model.server.URL, c.receiver.server.URL, 30*time.Second))
	c.start(late)
	if s, err := e.open(c.t.Context(), wrong.String()); err == nil || !strings.Contains(err.Error(), "set shards to 4") {
		c.t.Errorf("another number of shards: got %v, want a refusal", err)
		if err == nil {
			_ = s.Close() // it should not be there at all
		}
	}
	c.says(late, "answered", "m2", true)
	c.says(late, "answered", "m3", false)
	for _, m := range c.members {
		c.caller.rests(c.t, m.url, "support", "answered")
		if got := c.messages(m, "answered"); !slices.Equal(got, []string{"m2", "m1", "m3"}) {
			c.t.Errorf("it holds %q", got)
		}
	}
}

// TestRedisThatSyncsEverySecond: a server that is killed may have kept back what
// it took in the last two seconds, while it waited for its disk, and nothing of
// before.
func TestRedisThatSyncsEverySecond(t *testing.T) {
	t.Parallel()
	const conversations, atRisk = 30, 2 * time.Second
	e := redisWith(t, "--appendonly", "yes", "--appendfsync", "everysec")
	c := newTeam(t, e, 2, 30*time.Second)
	c.model.calm.Store(true)
	name := func(i int) string { return fmt.Sprintf("c%d", i) }
	for i := range conversations {
		c.caller.mustSay(t, c.members[i%2].url, "support", name(i), "m1", "[m1] hello")
	}
	for i := range conversations {
		c.answers(c.members[0], name(i), "[m1]")
	}
	wait(t.Context(), atRisk+500*time.Millisecond)
	e.crash(t)
	e.restart(t)
	for i := range conversations {
		c.says(c.members[i%2], name(i), "m1", true)
		c.says(c.members[i%2], name(i), "m2", false)
		c.answers(c.members[1], name(i), "[m1]", "[m2]")
	}
	for _, m := range c.members {
		m.stops(t)
	}
}
