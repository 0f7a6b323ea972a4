package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// bench is where changes are tried: the checks of one package, measured without a
// change.
type bench struct {
	root, folder string // folder is temporary
	checks       []measured
	calm         sync.RWMutex // held for writing while a check must run alone

	mu   sync.Mutex // guards cost
	cost cost
}

// cost is the processor time that changes took.
type cost struct{ compile, run time.Duration }

// spend adds the processor time of a process that has ended to one of the two.
func (b *bench) spend(on *time.Duration, ended *os.ProcessState) {
	if ended == nil {
		return // it never ran
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	*on += ended.UserTime() + ended.SystemTime()
}

// measured is a check with what it did without a change.
type measured struct {
	check
	took    time.Duration
	covered coverage
}

// newBench runs each check once on the code as it is. It must pass; its time
// bounds the runs with changes, and its coverage says which changes it can see.
func newBench(ctx context.Context, root string, p *pkg) (*bench, error) {
	folder, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return nil, err
	}
	b := &bench{root: root, folder: folder}
	for i, c := range checksOf(p.folder) {
		m, err := b.measure(ctx, c, i, p)
		if err != nil {
			b.close()
			return nil, err
		}
		b.checks = append(b.checks, m)
	}
	return b, nil
}

func (b *bench) close() { _ = os.RemoveAll(b.folder) }

func (b *bench) measure(ctx context.Context, c check, number int, p *pkg) (measured, error) {
	binary := filepath.Join(b.folder, fmt.Sprintf("measured%d", number))
	profile := binary + ".profile"
	if output, err := b.compile(ctx, c.pkg, binary, "-cover", "-coverpkg="+p.path); err != nil {
		return measured{}, fmt.Errorf("%s does not compile without a change: %w\n%s", c.pkg, err, output)
	}
	began := time.Now()
	c.args = append([]string{"-test.coverprofile=" + profile}, c.args...)
	if output, err := b.run(ctx, c, binary, filepath.Join(b.folder, "temporary"), 10*time.Minute); err != nil {
		return measured{}, fmt.Errorf("%s fails without a change: %w\n%s", c.pkg, err, output)
	}
	c.args = c.args[1:]
	took := time.Since(began)
	covered, err := readCoverage(profile, p)
	return measured{c, took, covered}, err
}

// outcome is the end of one change.
type outcome int

const (
	caught      outcome = iota
	caughtLate          // a check did not end in time, twice, once with nothing beside it
	survived            // all checks passed
	notReached          // no check runs the code
	notCompiled         // the type checker lets it pass, the compiler does not
	notTried            // the time was over
)

// tryAll tries the changes, several at a time, until the budget is used up.
func (b *bench) tryAll(ctx context.Context, sampled []*change, o options, r *result) {
	limit := time.Now().Add(o.budget)
	outcomes := make([]outcome, len(sampled))
	next := make(chan int)
	var group sync.WaitGroup
	for range o.workers {
		group.Go(func() {
			for i := range next {
				outcomes[i] = b.try(ctx, sampled[i], i)
				if o := outcomes[i]; o == survived || o == notReached { // a run takes long: it is told at once
					fmt.Fprintf(os.Stderr, "mutants: %s\n", sampled[i].key)
				}
			}
		})
	}
	for i := range sampled {
		if time.Now().After(limit) || ctx.Err() != nil {
			outcomes[i] = notTried
			continue
		}
		next <- i
	}
	close(next)
	group.Wait()
	for i, c := range sampled {
		r.note(c, outcomes[i])
	}
}

// try makes one change and runs the checks that reach it.
func (b *bench) try(ctx context.Context, c *change, number int) outcome {
	folder := filepath.Join(b.folder, strconv.Itoa(number))
	defer os.RemoveAll(folder)
	overlay, err := writeOverlay(folder, c)
	if err != nil {
		return notTried
	}
	binaries := map[string]string{}
	reached := false
	for _, m := range b.checks {
		if !m.covered.reaches(c) {
			continue
		}
		reached = true
		if binaries[m.pkg] == "" {
			binaries[m.pkg] = filepath.Join(folder, fmt.Sprintf("test%d", len(binaries)))
			if _, err := b.compile(ctx, m.pkg, binaries[m.pkg], "-overlay="+overlay); err != nil {
				return notCompiled
			}
		}
		switch err := b.runTwice(ctx, m.check, binaries[m.pkg], filepath.Join(folder, "temporary"), slower*m.took+grace); {
		case errors.Is(err, errTooLong):
			return caughtLate
		case err != nil:
			return caught
		}
	}
	if !reached {
		return notReached
	}
	return survived
}

// errTooLong: a check did not end in time.
var errTooLong = errors.New("the check did not end in time")

// runTwice runs a check, whose limit comes from its time without a change. On a busy
// machine a check may be late without any fault. So one that is late runs again, with
// twice the time and no other check beside it; only if it is late again, the change
// counts as caught.
func (b *bench) runTwice(ctx context.Context, c check, binary, temporary string, limit time.Duration) error {
	b.calm.RLock()
	_, err := b.run(ctx, c, binary, temporary, limit)
	b.calm.RUnlock()
	if !errors.Is(err, errTooLong) {
		return err
	}
	b.calm.Lock()
	defer b.calm.Unlock()
	_, err = b.run(ctx, c, binary, temporary, 2*limit)
	return err
}

// writeOverlay writes the changed file, and the list that makes the compiler take
// it in place of the original.
func writeOverlay(folder string, c *change) (string, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	changed := filepath.Join(folder, "changed.go")
	if err := os.WriteFile(changed, c.mutated(), 0o644); err != nil {
		return "", err
	}
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{c.file.name: changed}})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(folder, "overlay.json")
	return overlay, os.WriteFile(overlay, list, 0o644)
}

func (b *bench) compile(ctx context.Context, name, binary string, args ...string) ([]byte, error) {
	args = append([]string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-o", binary}, args...)
	command := exec.CommandContext(ctx, "go", append(args, name)...)
	command.Dir = b.root
	output, err := command.CombinedOutput()
	b.spend(&b.cost.compile, command.ProcessState)
	return output, err
}

// run runs a test binary in the folder of its package. Its temporary files, and
// processes that it started and left behind, go with it. The error is errTooLong where
// it had to be ended because of its time.
func (b *bench) run(ctx context.Context, c check, binary, temporary string, limit time.Duration) ([]byte, error) {
	if err := os.MkdirAll(temporary, 0o755); err != nil {
		return nil, err
	}
	defer os.RemoveAll(temporary)
	ctx, stop := context.WithTimeoutCause(ctx, limit, errTooLong)
	defer stop()
	output, err := os.Create(binary + ".output")
	if err != nil {
		return nil, err
	}
	defer output.Close()
	command := exec.CommandContext(ctx, binary, append([]string{"-test.failfast"}, c.args...)...)
	command.Dir = filepath.Join(b.root, c.pkg)
	command.Env = append(append(os.Environ(), "TMPDIR="+temporary), c.env...)
	command.Stdout, command.Stderr = output, output
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return endGroup(command.Process.Pid) }
	if err := command.Start(); err != nil {
		return nil, err
	}
	go watchMemory(ctx, command.Process.Pid, stop)
	err = command.Wait()
	_ = endGroup(command.Process.Pid)
	b.spend(&b.cost.run, command.ProcessState)
	if err != nil && errors.Is(context.Cause(ctx), errTooLong) {
		err = errTooLong
	}
	said, _ := os.ReadFile(output.Name())
	return said, err
}

// endGroup ends a process and all that it started.
func endGroup(leader int) error {
	err := syscall.Kill(-leader, syscall.SIGKILL)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}

// watchMemory ends a process that takes too much memory.
func watchMemory(ctx context.Context, process int, stop func()) {
	ticker := time.NewTicker(memoryPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if memoryOf(process) > memoryLimit {
				stop()
				return
			}
		}
	}
}

// memoryOf is how many bytes a process holds; 0 where the system does not tell.
func memoryOf(process int) int {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", process))
	if err != nil {
		return 0
	}
	var size, resident int
	if _, err := fmt.Sscan(string(data), &size, &resident); err != nil {
		return 0
	}
	return resident * os.Getpagesize()
}
