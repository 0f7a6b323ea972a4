package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/onereply/onereply/internal/proof/testservers"
)

// buildOlder makes the program as it is, but for the schema of PostgreSQL: it knows
// the first one only, as the release before the second one did. What such a release
// sent, to the byte, is played against the newest schema in the tests of the store.
var buildOlder = sync.OnceValues(func() (string, error) {
	const newest, first = "return []migration{{statements: schemaV1, oldest: 1},", "return []migration{{statements: schemaV1, oldest: 1}}; return []migration{"
	original, err := filepath.Abs(filepath.Join("..", "store", "postgres", "schema.go"))
	if err != nil {
		return "", err
	}
	source, err := os.ReadFile(original)
	if err != nil {
		return "", err
	}
	if strings.Count(string(source), newest) != 1 {
		return "", fmt.Errorf("%s lists its migrations in another way: correct this test", original)
	}
	changed, list := filepath.Join(workshop, "older_schema.go"), filepath.Join(workshop, "older.json")
	overlay, _ := json.Marshal(map[string]any{"Replace": map[string]string{original: changed}}) // strings always can be
	for name, content := range map[string]string{changed: strings.Replace(string(source), newest, first, 1), list: string(overlay)} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			return "", err
		}
	}
	return compile("onereply-older", "-overlay", list)
})

// newestSchema is that of PostgreSQL which this program makes.
const newestSchema = "4"

// TestARollingUpgrade: while people write, a new node joins two old ones and migrates
// the schema under them; an old one is started again on it, as in a way back; then
// one after the other is replaced, in order and by a crash. Old and new ones answer
// side by side all the time, and in the end the ledger holds.
func TestARollingUpgrade(t *testing.T) {
	older, err := buildOlder()
	if err != nil {
		t.Fatal(err)
	}
	e := newPostgres(t)
	w := newWorld(t)
	yaml := clusterConfig(w.model.server.URL, w.receiver.server.URL)
	c := newCluster(t, e, 0, yaml)
	for range 2 {
		m := c.join(yaml)
		m.program = older
		c.start(m)
	}
	schema := func(when string, want string) {
		t.Helper()
		if got := testservers.PostgresValue(t, e.url.String(), `SELECT version::text FROM onereply.schema`); got != want {
			t.Fatalf("%s the schema has version %s, want %s", when, got, want)
		}
	}
	schema("with old nodes only", "1")
	w.url.Store(c.balancer(t))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var writing sync.WaitGroup
	for _, p := range w.people {
		writing.Go(func() { p.types(ctx) })
	}
	c.allAnswer(w, "two old nodes")

	c.start(c.join(yaml))
	schema("beside a new node", newestSchema)
	c.allAnswer(w, "two old nodes and a new one")

	back := c.members[0]
	back.stops(t)
	c.leave(back)
	c.start(back)
	schema("after an old node started", newestSchema)
	c.allAnswer(w, "an old node that was started again")

	for i, end := range []func(*member){func(m *member) { m.stops(t); c.leave(m) }, c.kills} {
		m := c.members[i]
		end(m)
		m.program = ""
		c.start(m)
		c.allAnswer(w, fmt.Sprintf("old node %d replaced", i+1))
	}
	w.model.calm.Store(true)
	w.receiver.calm.Store(true)
	stop()
	writing.Wait()
	w.rest(t, c.members[0].node)
	w.read(t, c.members[0].node, nil)
	for _, m := range c.members {
		if t.Failed() {
			t.Logf("life %s logged:\n%s", m.life, m.log.tail())
		}
		m.stops(t)
	}
}

// allAnswer waits until each node has had the model answer since now.
func (c *cluster) allAnswer(w *world, who string) {
	c.t.Helper()
	before := w.answersBy()
	for _, m := range c.members {
		if !within(limit, func() bool { return w.answersBy()[m.life] > before[m.life]+2 }) {
			c.t.Fatalf("%s: life %s answers nothing\n%s", who, m.life, m.log.tail())
		}
	}
}

// answersBy counts the finished calls of the model by the life that made them.
func (w *world) answersBy() map[string]int {
	counts := map[string]int{}
	for _, p := range w.people {
		for _, call := range w.model.of(p.bot, p.conversation) {
			if !call.ended.IsZero() {
				counts[call.life]++
			}
		}
	}
	return counts
}
