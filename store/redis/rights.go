package redis

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/rueidis"
)

// checkRights refuses a user who lacks a command that a script uses: it would fail
// in the middle of one. Each server of a cluster has users of its own, so every root
// is asked for. A server that doesn't answer has refused nothing.
//
// rights.lua asks the server's access list for each command that the scripts and this
// package use, on a key below the root. A user may lack the right to run scripts at all:
// that is the NOPERM. Rights that are taken away later are noticed by commit.lua, before
// it changes anything.
func checkRights(ctx context.Context, client rueidis.Client, rights script, roots ...string) error {
	var calls []call
	for _, root := range roots {
		calls = append(calls, call{key: root})
	}
	for _, result := range rights.runAll(ctx, client, calls) {
		missing, err := result.ToString()
		if text, _ := answered(err); strings.HasPrefix(text, "NOPERM") {
			return err
		}
		if err == nil && missing != "" {
			return fmt.Errorf("%s; give it all commands on the keys of this prefix (+@all)", missing)
		}
	}
	return nil
}
