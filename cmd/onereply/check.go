package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/onereply/onereply/server/config"
)

// checkCommand validates a configuration, for an editor or before a deployment. It sets
// the exit code to 1 where serve would not start because of the file.
type checkCommand struct {
	Config  string `default:"onereply.yaml" placeholder:"FILE" help:"The configuration to check (default: ${default})."`
	Running string `placeholder:"FILE" help:"The configuration that a node runs with: also says what a reload would change."`
	JSON    bool   `name:"json" help:"Print the problems as JSON."`
}

// problem is a mistake in the configuration, as JSON. Its fields are those of
// config.Problem, in the same order, so one converts into the other.
type problem struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Path    string `json:"path"`
	Message string `json:"message"`
}

// run reads the configuration as serve would, and starts nothing. It opens no store and
// calls no model, so an address that does not answer is not found here.
func (c *checkCommand) run(_ context.Context, p *program) error {
	found, changes, err := c.read(p)
	atOnce, restart := byRestart(changes)
	var problems config.Problems
	switch {
	case errors.As(err, &problems):
		return c.refuse(p, problems)
	case err != nil:
		return err
	case c.JSON:
		return p.printJSON(verdict{Valid: true, Problems: []problem{}, AtOnce: atOnce, Restart: restart})
	}
	fmt.Fprintf(p.stdout, "%s: valid, %s\n", c.Config, count(len(found.Bots), "bot"))
	if c.Running != "" {
		fmt.Fprintf(p.stdout, "changed at once: %s\nneeds a restart: %s\n", orNothing(atOnce), orNothing(restart))
	}
	return nil
}

// read reads the configuration, and the changes that it makes to the running one, if that
// was named.
func (c *checkCommand) read(p *program) (found config.Config, changes []config.Change, err error) {
	found, err = readConfig(c.Config, p.env, config.Overrides{})
	if err != nil || c.Running == "" {
		return found, nil, err
	}
	running, err := readConfig(c.Running, p.env, config.Overrides{})
	if err == nil {
		_, changes = running.Reload(found)
	}
	return found, changes, err
}

func orNothing(keys []string) string { return cmp.Or(strings.Join(keys, ", "), "nothing") }

// verdict is the result of check, as JSON. Programs get it on the standard output in
// both cases, valid or not.
type verdict struct {
	Valid    bool      `json:"valid"`
	Problems []problem `json:"problems"`

	// With --running: the keys that a reload changes, and those that need a restart.
	AtOnce  []string `json:"at_once,omitempty"`
	Restart []string `json:"restart,omitempty"`
}

// refuse prints the problems, and makes the exit code 1. For people they are errors, and
// go to the standard error.
func (c *checkCommand) refuse(p *program, problems config.Problems) error {
	if !c.JSON {
		fmt.Fprintln(p.stderr, problems)
		return errReported
	}
	if err := p.printJSON(verdict{Problems: asJSON(problems)}); err != nil {
		return err
	}
	return errReported
}

// asJSON is an empty list for no problems, and never null, so that programs can count it.
func asJSON(problems config.Problems) []problem {
	out := make([]problem, len(problems))
	for i, p := range problems {
		out[i] = problem(p)
	}
	return out
}
