package e2e

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func diskConfig(model, receiver string) string {
	return fmt.Sprintf(`
bots:
  support:
    debounce: 50ms
    lease: 1s
    on_new_input: finish
    responder: {kind: openai, base_url: "%s", model: echo}
    delivery: {kind: webhook, url: "%s", secret: %s}
`, model, receiver, signingSecret)
}

// smallDisk is a file system of 8 MiB in memory.
func smallDisk(t *testing.T) string {
	t.Helper()
	if os.Getuid() != 0 {
		lacking(t, "not run: only root can mount a small disk")
	}
	folder := t.TempDir()
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "size=8m"); err != nil {
		lacking(t, fmt.Sprintf("not run: this machine allows no mount: %v", err))
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(folder, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	return folder
}

// fill takes what is left of a disk, and gives what frees it again.
func fill(t *testing.T, folder string) (free func()) {
	t.Helper()
	filler, err := os.Create(filepath.Join(folder, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	defer filler.Close()
	block := make([]byte, 4096)
	for err == nil {
		_, err = filler.Write(block)
	}
	return func() {
		if err := os.Remove(filler.Name()); err != nil {
			t.Fatal(err)
		}
	}
}

// writers are conversations that are written to while the store takes no writes.
type writers struct {
	*stage
	wrote, acknowledged map[string]map[string]bool // ids by conversation
}

const fatConversations = 8

// text is long, so that it needs room on the disk.
func fatText(id string) string { return "[" + id + "] " + strings.Repeat("long ", 6000) }

func (w *writers) send(conversation, id string) answer {
	got, ok, raw := w.caller.say(w.node.url, "support", conversation, id, fatText(id))
	for _, ids := range []map[string]map[string]bool{w.wrote, w.acknowledged} {
		if ids[conversation] == nil {
			ids[conversation] = map[string]bool{}
		}
	}
	w.wrote[conversation][id] = true
	if ok && !got.Duplicate {
		w.acknowledged[conversation][id] = true
	}
	return raw
}

// whileItCannotWrite plays a store that can't write for a while: a turn is under way
// when it begins, messages are refused meanwhile, and after it all goes on.
func whileItCannotWrite(t *testing.T, folder string, breaks func(*writers) (end func()), logged string) {
	nobody := func(moment) {}
	s := &stage{
		model:    newModel(t, func() time.Duration { return 2 * time.Second }, nobody),
		receiver: newReceiver(t, takesAll, nobody),
		caller:   newCaller(t),
	}
	s.restart = settings(t, folder, diskConfig(s.model.server.URL, s.receiver.server.URL))
	s.node = start(t, nil, s.restart...)
	w := &writers{stage: s, wrote: map[string]map[string]bool{}, acknowledged: map[string]map[string]bool{}}
	for i := range fatConversations {
		w.send(fmt.Sprintf("c%d", i), fmt.Sprintf("c%d-first", i))
	}
	w.send("c1", "under-way")
	s.generating(t, 1)
	end := breaks(w)
	w.refused(t, logged)
	ended := s.model.of("support", "c1")
	eventually(t, "the model ends while nothing can be written", func() bool {
		ended = s.model.of("support", "c1")
		return !ended[0].ended.IsZero()
	})
	end()
	w.goesOn(t)
	s.node.stops(t)
	s.node = start(t, nil, s.restart...)
	w.judge(t)
	s.node.stops(t)
}

// refused checks what clients and the operator see of that.
func (w *writers) refused(t *testing.T, logged string) {
	t.Helper()
	for i := range 3 {
		got := w.send("c2", fmt.Sprintf("refused-%d", i))
		if got.status != 503 || got.problem() != "unavailable" || got.header.Get("Retry-After") == "" {
			t.Errorf("got %v, want a 503 problem with Retry-After", got)
		}
	}
	if got := w.caller.do(http.MethodGet, path(w.node.url, "support", "c2"), ""); got.status != 200 {
		t.Errorf("what is stored can't be read: %v", got)
	}
	if len(w.node.log.lines("ERROR", logged)) == 0 {
		t.Errorf("no line of the log says %q:\n%s", logged, w.node.log.tail())
	}
}

// goesOn checks that the next message works, that a refused one is taken now,
// and that all turns end.
func (w *writers) goesOn(t *testing.T) {
	t.Helper()
	var next answer
	eventually(t, "the next message is taken", func() bool {
		next = w.send("c3", "next")
		return next.status == 202 || w.node.hasEnded()
	})
	if w.node.hasEnded() {
		t.Fatalf("the node has ended:\n%s", w.node.log.text())
	}
	w.acknowledged["c3"]["next"] = true // a repeat of it may have been the one that was answered
	for i := range 3 {
		id := fmt.Sprintf("refused-%d", i)
		if got := w.send("c2", id); got.status != 202 {
			t.Errorf("a repeat of %s was answered %v", id, got)
		}
		w.acknowledged["c2"][id] = true
	}
	w.model.calm.Store(true)
	for conversation := range w.wrote {
		w.caller.rests(t, w.node.url, "support", conversation)
	}
}

// judge reads the ledger of every conversation, from a fresh start.
func (w *writers) judge(t *testing.T) {
	t.Helper()
	total := 0
	for conversation, ids := range w.wrote {
		story := story{
			mayFinish: true, wrote: map[string]string{}, acknowledged: w.acknowledged[conversation],
			calls: w.model.of("support", conversation), arrivals: w.receiver.of("support", conversation),
			transcript: w.caller.read(t, w.node.url, "support", conversation),
		}
		for id := range ids {
			story.wrote[id] = fatText(id)
		}
		total += len(story.acknowledged)
		for _, fault := range story.faults() {
			t.Errorf("%s: %.300s", conversation, fault)
		}
	}
	t.Logf("%d messages were acknowledged", total)
}

// TestDiskFull: clients get a 503, the log says why, and after space is freed
// all goes on with nothing lost and nothing sent twice.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	folder := smallDisk(t)
	whileItCannotWrite(t, folder, func(w *writers) func() {
		free := fill(t, folder)
		full := false
		for i := 0; !full && i < 1000; i++ { // the log that is there already has room for some
			conversation := fmt.Sprintf("c%d", i%fatConversations)
			full = w.send(conversation, fmt.Sprintf("%s-%d", conversation, i)).status == 503
		}
		return free
	}, "the disk is full")
}

// TestFileNotWritable: the same where the file and its log may not be written
// any more. The index of the log, beside them, is left alone: it is memory
// that the system shares, and Linux ends a process that writes to it in vain.
func TestFileNotWritable(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	protect := func(flag string) error {
		file := filepath.Join(folder, "onereply.db")
		if output, err := exec.Command("chattr", flag, file, file+"-wal").CombinedOutput(); err != nil {
			return fmt.Errorf("chattr %s: %w: %s", flag, err, output)
		}
		return nil
	}
	t.Cleanup(func() { _ = protect("-i") }) // else the folder can't be removed
	whileItCannotWrite(t, folder, func(*writers) func() {
		if err := protect("+i"); err != nil {
			t.Skipf("not run: this machine can't take the right to write from a running program: %v", err)
		}
		return func() {
			if err := protect("-i"); err != nil {
				t.Fatal(err)
			}
		}
	}, "onereply.db")
}

// TestFolderNotWritable: at start, a clear error.
func TestFolderNotWritable(t *testing.T) {
	t.Parallel()
	folder := smallDisk(t)
	if err := syscall.Mount("", folder, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Skipf("not run: this machine allows no remount: %v", err)
	}
	got := run(t, nil, settings(t, folder, inputConfig)...)
	if got.code != 1 || !strings.Contains(got.stderr, "onereply.db") || !strings.Contains(got.stderr, "writ") && !strings.Contains(got.stderr, "read-only") {
		t.Errorf("exit code %d and %q, want 1 and what to do", got.code, got.stderr)
	}
}
