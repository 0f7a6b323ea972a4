package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
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
		return p.printJSON(map[string]string{"version": version(), "go": runtime.Version()})
	}
	_, err := fmt.Fprintf(p.stdout, "onereply %s %s %s/%s\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

// version is the version of the module, or the commit that it was built from. Both come
// from the build information that Go puts into each binary, so no build needs a flag.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			return "devel-" + setting.Value
		}
	}
	return "devel"
}
