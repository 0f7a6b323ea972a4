package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// bench is where changes are tried: the package with all of them built in, and its
// checks, measured without a change.
type bench struct {
	root, folder string // folder is temporary
	woven        *woven
	built        map[string]string // test binaries, by what they were built from
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
	binary          string // with the changes built in
	took, processor time.Duration
	covered         coverage
}

// limits are the bounds of a run of the check with a change.
func (m measured) limits() limits {
	return limits{slower*m.took + grace, slower*m.processor + grace/2}
}

// newBench builds the changes in, and runs each check once without any. It must pass;
// its time bounds the runs with changes, and its coverage says which changes it can see.
func newBench(ctx context.Context, root string, p *pkg, changes []*change) (*bench, error) {
	folder, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return nil, err
	}
	b := &bench{root: root, folder: folder, built: map[string]string{}}
	if b.woven, err = weave(p, changes, folder); err != nil {
		b.close()
		return nil, err
	}
	for _, c := range checksOf(p.folder) {
		m, err := b.measure(ctx, c, p)
		if err != nil {
			b.close()
			return nil, err
		}
		b.checks = append(b.checks, m)
	}
	return b, nil
}

func (b *bench) close() { _ = os.RemoveAll(b.folder) }

// measure runs a check twice: on the code as it is, for its coverage, and with the
// changes built in and none switched on, for its time.
func (b *bench) measure(ctx context.Context, c check, p *pkg) (measured, error) {
	temporary, profile := filepath.Join(b.folder, "temporary"), filepath.Join(b.folder, "profile")
	forever := limits{measuring, measuring}
	covering := check{c.pkg, append([]string{"-test.coverprofile=" + profile}, c.args...), c.env}
	binary, err := b.build(ctx, c.pkg, "-cover", "-coverpkg="+p.path)
	if err != nil {
		return measured{}, err
	}
	if output, err := b.run(ctx, covering, binary, temporary, forever); err != nil {
		return measured{}, fmt.Errorf("%s fails without a change: %w\n%s", c.pkg, err, output)
	}
	m := measured{check: c}
	if m.covered, err = readCoverage(profile, p); err != nil {
		return measured{}, err
	}
	if m.binary, err = b.build(ctx, c.pkg, "-overlay="+b.woven.overlay); err != nil {
		return measured{}, err
	}
	began, before := time.Now(), b.cost.run
	if output, err := b.run(ctx, c, m.binary, temporary, forever); err != nil {
		return measured{}, fmt.Errorf("%s fails with changes built in, and none switched on: %w\n%s", c.pkg, err, output)
	}
	m.took, m.processor = time.Since(began), b.cost.run-before
	return m, nil
}

// build compiles the tests of a package, once for each way to do so.
func (b *bench) build(ctx context.Context, name string, args ...string) (string, error) {
	way := name + strings.Join(args, " ")
	if binary, ok := b.built[way]; ok {
		return binary, nil
	}
	binary := filepath.Join(b.folder, fmt.Sprintf("test%d", len(b.built)))
	if output, err := b.compile(ctx, name, binary, args...); err != nil {
		return "", fmt.Errorf("%s does not compile without a change: %w\n%s", name, err, output)
	}
	b.built[way] = binary
	return binary, nil
}

// told begins the line of a change that no check noticed, while the others are tried.
const told = "mutants: "

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
					fmt.Fprintf(os.Stderr, "%s%s\n", told, sampled[i].key)
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
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return notTried
	}
	reached := false
	for _, m := range b.checks {
		if !m.covered.reaches(c) {
			continue
		}
		reached = true
		check, binary := m.check, m.binary
		var err error
		if number := b.woven.numbers[c]; number != 0 {
			check.env = append(slices.Clone(check.env), fmt.Sprintf("%s=%d", chosen, number))
		} else {
			binary, err = b.buildFor(ctx, c, check.pkg, folder)
		}
		if err != nil {
			return notCompiled
		}
		switch err := b.runTwice(ctx, check, binary, filepath.Join(folder, "temporary"), m.limits()); {
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

// buildFor compiles the tests of a package with a change that can't be switched on.
func (b *bench) buildFor(ctx context.Context, c *change, name, folder string) (string, error) {
	binary := filepath.Join(folder, "test"+strings.ReplaceAll(name, "/", "_"))
	if _, err := os.Stat(binary); err == nil {
		return binary, nil
	}
	changed := filepath.Join(folder, "changed.go")
	if err := os.WriteFile(changed, c.mutated(), 0o644); err != nil {
		return "", err
	}
	overlay, err := writeOverlay(folder, map[string]string{c.file.name: changed})
	if err != nil {
		return "", err
	}
	_, err = b.compile(ctx, name, binary, "-overlay="+overlay)
	return binary, err
}

// errTooLong: a check did not end in time. errEndless: it worked, or stood still, much
// longer than without the change, however busy the machine is.
var (
	errTooLong = errors.New("the check did not end in time")
	errEndless = fmt.Errorf("%w, on any machine", errTooLong)
)

// limits are the bounds of a run: in time, and in processor time.
type limits struct{ time, processor time.Duration }

// runTwice runs a check, whose limits come from its time without a change. On a busy
// machine a check may be late without any fault. So one that is late runs again, with
// twice the time and no other check beside it; only if it is late again, the change
// counts as caught.
func (b *bench) runTwice(ctx context.Context, c check, binary, temporary string, l limits) error {
	b.calm.RLock()
	_, err := b.run(ctx, c, binary, temporary, l)
	b.calm.RUnlock()
	if !errors.Is(err, errTooLong) || errors.Is(err, errEndless) {
		return err
	}
	b.calm.Lock()
	defer b.calm.Unlock()
	l.time *= 2
	_, err = b.run(ctx, c, binary, temporary, l)
	return err
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
// processes that it started and left behind, go with it. The error is errTooLong or
// errEndless where it had to be ended.
func (b *bench) run(ctx context.Context, c check, binary, temporary string, l limits) ([]byte, error) {
	if err := os.MkdirAll(temporary, 0o755); err != nil {
		return nil, err
	}
	defer os.RemoveAll(temporary)
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	timer := time.AfterFunc(l.time, func() { stop(errTooLong) })
	defer timer.Stop()
	output, err := os.Create(filepath.Join(filepath.Dir(temporary), "output"))
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
	go watch(ctx, command.Process.Pid, l.processor, stop)
	err = command.Wait()
	_ = endGroup(command.Process.Pid)
	b.spend(&b.cost.run, command.ProcessState)
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, errTooLong) {
		err = cause
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
