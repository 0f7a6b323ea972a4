package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/onereply/onereply/server/config"
)

// checkCommand validates a configuration.
type checkCommand struct {
	Config string `default:"onereply.yaml" placeholder:"FILE" help:"The configuration to check (default: ${default})."`
	JSON   bool   `name:"json" help:"Print the problems as JSON."`
}

// problem is a mistake in the configuration, as JSON.
type problem struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Path    string `json:"path"`
	Message string `json:"message"`
}

// run reads the configuration as serve would, and starts nothing.
func (c *checkCommand) run(_ context.Context, p *program) error {
	found, err := readConfig(c.Config, p.env, config.Overrides{})
	var problems config.Problems
	switch {
	case errors.As(err, &problems):
		return c.refuse(p, problems)
	case err != nil:
		return err
	case c.JSON:
		return p.printJSON(verdict{Valid: true, Problems: []problem{}})
	}
	_, err = fmt.Fprintf(p.stdout, "%s: valid, %s\n", c.Config, count(len(found.Bots), "bot"))
	return err
}

// verdict is the result of check, as JSON.
type verdict struct {
	Valid    bool      `json:"valid"`
	Problems []problem `json:"problems"`
}

// refuse prints the problems, and makes the exit code 1.
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

// asJSON is an empty list for no problems, and never null.
func asJSON(problems config.Problems) []problem {
	out := make([]problem, len(problems))
	for i, p := range problems {
		out[i] = problem(p)
	}
	return out
}
