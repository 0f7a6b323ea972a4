package main

import (
	"context"
	"fmt"
	"runtime"

	"github.com/onereply/onereply/internal/buildinfo"
)

// versionCommand prints the version of this program, with the version of Go and the
// platform that it was built for: what a report of a fault needs.
type versionCommand struct {
	JSON bool `name:"json" help:"Print it as JSON."`
}

// run prints one line. It takes nothing from outside the binary and can't fail, unless
// the output can't be written.
func (c *versionCommand) run(_ context.Context, p *program) error {
	if c.JSON {
		return p.printJSON(map[string]string{"version": buildinfo.Version(), "go": runtime.Version()})
	}
	_, err := fmt.Fprintf(p.stdout, "onereply %s %s %s/%s\n", buildinfo.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
