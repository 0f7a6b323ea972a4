package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// wrongClock goes into package time of a build of the program. It moves the wall
// clock, and leaves alone the monotonic one, which no administrator can set.
const wrongClock = `package time

import "syscall"

var wallClockError = func() int64 {
	switch value, _ := syscall.Getenv("WALL_CLOCK"); value {
	case "ahead":
		return 3600
	case "behind":
		return -3600
	}
	return 0
}()
`

// buildWrongClock makes a program whose wall clock WALL_CLOCK puts ahead or
// behind by an hour.
var buildWrongClock = sync.OnceValues(func() (string, error) {
	const reads = "sec, nsec, mono := runtimeNow()"
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOROOT: %w", err)
	}
	folder := filepath.Join(strings.TrimSpace(string(root)), "src", "time")
	source, err := os.ReadFile(filepath.Join(folder, "time.go"))
	if err != nil {
		return "", err
	}
	if !strings.Contains(string(source), reads) {
		return "", fmt.Errorf("%s reads the clock in another way: correct this test", runtime.Version())
	}
	changed := filepath.Join(workshop, "time.go")
	added := filepath.Join(workshop, "wrong_clock.go")
	text := strings.ReplaceAll(string(source), reads, reads+"; sec += wallClockError")
	overlay, _ := json.Marshal(map[string]any{"Replace": map[string]string{ // strings always can be
		filepath.Join(folder, "time.go"): changed, filepath.Join(folder, "wrong_clock.go"): added,
	}})
	for name, content := range map[string]string{changed: text, added: wrongClock, filepath.Join(workshop, "overlay.json"): string(overlay)} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			return "", err
		}
	}
	// All is compiled anew, since all depends on package time. Half of that would be for the
	// two largest packages, neither of which does much here.
	return compile("onereply-wrong-clock", "-overlay", filepath.Join(workshop, "overlay.json"),
		"-gcflags=github.com/ncruces/go-sqlite3-wasm/...=-N -l", "-gcflags=github.com/redis/rueidis/internal/cmds=-N -l")
})

// TestWrongClocks: of three nodes one is an hour ahead and one is an hour
// behind. Whoever accepts a message, it is answered as soon as it should be, and
// whoever takes over does so when the lease has ended.
func TestWrongClocks(t *testing.T) {
	t.Parallel()
	const lease = 2 * time.Second
	wrong, err := buildWrongClock()
	if err != nil {
		t.Fatal(err)
	}
	onEachEngine(t, func(t *testing.T, e engine) {
		c := newTeam(t, e, 0, lease)
		for _, clock := range []string{"right", "ahead", "behind"} {
			m := c.join(teamConfig(c.model.server.URL, c.receiver.server.URL, lease))
			m.program, m.env = wrong, []string{"WALL_CLOCK=" + clock}
			c.start(m)
			showsClock(t, m.node, clock)
		}
		for i, m := range c.members {
			conversation := fmt.Sprintf("c%d", i)
			c.model.calm.Store(false)
			said := time.Now()
			c.caller.mustSay(t, m.url, "support", conversation, "m1", "[m1] hello")
			call := c.call(conversation, 1)
			promised(t, "from a message to the model, "+m.env[0], call.began.Sub(said), 50*time.Millisecond+time.Second)
			holder, at := c.of(call.instance)
			expires := c.caller.look(m.url, "support", conversation).Lease.ExpiresAt
			if off := time.Until(expires); off > lease || off < -lease {
				t.Errorf("a lease of %v ends in %v", lease, off)
			}
			c.model.calm.Store(true)
			killed := time.Now()
			c.kills(holder)
			took := c.call(conversation, 2).began.Sub(killed)
			promised(t, "take-over from "+holder.env[0], took, lease+time.Second)
			if took < lease/2 {
				t.Errorf("it was taken over after %v, before the lease can have ended", took)
			}
			c.answers(c.members[(at+1)%len(c.members)], conversation, "[m1]")
			c.start(holder)
		}
	})
}

// of is the member that runs as this instance, and its number.
func (c *cluster) of(instance string) (*member, int) {
	c.t.Helper()
	for i, m := range c.members {
		if m.instance == instance {
			return m, i
		}
	}
	c.t.Fatalf("there is no instance %s", instance)
	return nil, 0
}

// showsClock checks that a node really has the clock that it was given: its log
// shows it.
func showsClock(t *testing.T, n *node, clock string) {
	t.Helper()
	want := map[string]time.Duration{"right": 0, "ahead": time.Hour, "behind": -time.Hour}[clock]
	var logged struct{ Time time.Time }
	first, _, _ := strings.Cut(n.log.text(), "\n")
	if err := json.Unmarshal([]byte(first), &logged); err != nil {
		t.Fatalf("the log begins with %q: %v", first, err)
	}
	if off := time.Until(logged.Time) - want; off.Abs() > limit {
		t.Fatalf("the clock of the node %s is off by %v", clock, off)
	}
}
