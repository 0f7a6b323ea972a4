package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/onereply/onereply/server/config"
)

// lookEvery is how often the configuration is looked at, and a certificate at most. The
// configuration is read once it has stayed the same for so long: not while it is written.
const lookEvery = time.Second

// source is where a configuration came from, so that it can be read again.
type source struct {
	file    string
	read    func() (config.Config, error)
	hangups <-chan os.Signal // each asks for a reload
	seen    fs.FileInfo      // the file as it was before it was read for the first time; nil: not known
}

// reloading reads the configuration of a running node again, when its file changes and on
// each SIGHUP. It takes all of the file or nothing: a mistake, or a responder that can't be
// made, leaves the node as it was. A key that needs a restart is logged, and keeps its value
// until then.
type reloading struct {
	from  *source
	now   config.Config // in force
	apply func(context.Context, config.Config) error
	log   *slog.Logger

	seen    fs.FileInfo // of the file that is in force, or was refused
	looking fs.FileInfo // of one that changed since, and may change on
}

// start follows the file until the returned function is called, which waits for a reload that
// is under way.
func (r *reloading) start(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	r.seen, r.looking = r.from.seen, r.from.seen
	var following sync.WaitGroup
	following.Go(func() { r.follow(ctx) })
	return func() {
		cancel()
		following.Wait()
	}
}

func (r *reloading) follow(ctx context.Context) {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case <-r.from.hangups:
			r.reload(ctx)
		case <-look.C:
			if r.changed() {
				r.reload(ctx)
			}
		case <-ctx.Done():
			return
		}
	}
}

// changed reports whether the file is another one than was read last, and has been so for one
// look.
func (r *reloading) changed() bool {
	now, err := os.Stat(r.from.file)
	if err != nil {
		return false // it is being replaced, or gone: the node goes on
	}
	stays := sameFile(r.looking, now)
	r.looking = now
	if !stays || sameFile(r.seen, now) {
		return false
	}
	r.seen = now
	return true
}

// sameFile reports whether a file is the one that was seen before, unchanged. nil stands for
// no file.
func sameFile(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// reload reads the file and puts it into force.
func (r *reloading) reload(ctx context.Context) {
	next, err := r.from.read()
	if err == nil && len(next.APIKeys) == 0 && !config.Loopback(r.now.Listen) {
		err = errors.New("api_keys: others can reach this node, so the last key can't be removed while it runs")
	}
	var problems config.Problems
	switch {
	case errors.As(err, &problems):
		for _, p := range problems {
			r.log.Error("the configuration was read again and has a mistake", "at", p.String())
		}
		r.refuse(fmt.Errorf("it has %s", count(len(problems), "mistake")))
		return
	case err != nil:
		r.refuse(err)
		return
	}
	inForce, changes := r.now.Reload(next)
	atOnce, later := byRestart(changes)
	if len(atOnce) > 0 {
		if err := r.apply(ctx, inForce); err != nil {
			r.refuse(err)
			return
		}
		r.now = inForce
	}
	r.log.Info("the configuration was read again", "changed", orNothing(atOnce))
	if len(later) > 0 {
		r.log.Warn("what needs a restart keeps its value until then", "keys", strings.Join(later, ", "))
	}
}

func (r *reloading) refuse(err error) {
	r.log.Error("the configuration was not taken: the node goes on with the one that it has", "err", err)
}

// byRestart parts the keys of changes into those that come into force at once, and those that
// need a restart.
func byRestart(changes []config.Change) (atOnce, later []string) {
	for _, c := range changes {
		if c.Restart {
			later = append(later, c.Key)
		} else {
			atOnce = append(atOnce, c.Key)
		}
	}
	return atOnce, later
}
