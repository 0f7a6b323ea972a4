package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
)

// versionCommand prints the version of this program.
type versionCommand struct {
	JSON bool `name:"json" help:"Print it as JSON."`
}

func (c *versionCommand) run(_ context.Context, p *program) error {
	if c.JSON {
		return p.printJSON(map[string]string{"version": version(), "go": runtime.Version()})
	}
	_, err := fmt.Fprintf(p.stdout, "onereply %s %s %s/%s\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

// version is the version of the module, or the commit that it was built from.
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
