// Package buildinfo tells which version of this module a program was built from. It
// imports the standard library only: the library and the command use it.
package buildinfo

import "runtime/debug"

// Version is the version of this module in the program, also where it is a dependency of
// another program. Without a recorded version it is "devel", with the first 12 characters
// of the commit where the build recorded one; without any build information, "unknown".
func Version() string {
	const module = "github.com/onereply/onereply"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	found := info.Main
	for _, dependency := range info.Deps {
		if dependency.Path == module {
			found = *dependency
		}
	}
	if found.Path == module && found.Version != "" && found.Version != "(devel)" {
		return found.Version
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			return "devel-" + setting.Value[:min(len(setting.Value), 12)]
		}
	}
	return "devel"
}
