package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/store/sqlite"
	"github.com/onereply/onereply/turn"
)

// seeded is the URL of an embedded store with one conversation, in which a
// message waits; its timer is as given.
func seeded(t *testing.T, timer turn.Time) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "onereply.db")
	kept, err := sqlite.Open(path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const due = 1_750_000_000_000
	_, err = kept.Commit(t.Context(), store.Write{
		Key: store.Key{Bot: "support", Conversation: "c1"}, Op: store.Op{1}, Timer: timer, At: due,
		Record: turn.Record{Schema: turn.Schema, Phase: turn.Collecting, Version: 1, Pending: 1, Seq: 1, Window: turn.Window{Start: due, Due: due}},
		Append: []store.Entry{{Seq: 1, Kind: store.Message, ID: "m1", Status: turn.InputPending, At: due, Version: 1}},
	})
	if err = errors.Join(err, kept.Close()); err != nil {
		t.Fatal(err)
	}
	return "sqlite:" + path
}

const right turn.Time = 1_750_000_000_000 // the wake-up of what is seeded

func TestDoctorFindsNothing(t *testing.T) {
	url := seeded(t, right)
	do(t, nil, "", "doctor", "--store", url).expect(t, success, "1 conversation, 1 entry, 1 timer, 1 waiting: nothing is wrong.\n", "")
	do(t, nil, "", "doctor", "--store", url, "--json").expect(t, success, `{"conversations":1,"entries":1,"timers":1,"pending":1,"findings":0,`, "")
}

func TestDoctorFindsAndRepairs(t *testing.T) {
	url := seeded(t, 0)
	do(t, nil, "", "doctor", "--store", url).expect(t, failure, "support/c1: timer: there is work and no timer: nobody would ever look\n", "")
	do(t, nil, "", "doctor", "--store", url).expect(t, failure, "1 finding. --repair mends", "")
	do(t, nil, "", "doctor", "--store", url, "--json").expect(t, failure, `{"bot":"support","conversation":"c1","rule":"timer",`, "")
	do(t, nil, "", "doctor", "--store", url, "--repair").expect(t, success, "nobody would ever look (repaired)\n", "")
	do(t, nil, "", "doctor", "--store", url).expect(t, success, "nothing is wrong", "")
}

func TestDoctorSaysWhatIsLeft(t *testing.T) {
	url := seeded(t, right)
	kept, err := sqlite.Open(strings.TrimPrefix(url, "sqlite:"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = kept.Commit(context.Background(), store.Write{
		Key: store.Key{Bot: "support", Conversation: "c1"}, Expect: store.Op{1}, Op: store.Op{2},
		Record: turn.Record{Schema: turn.Schema, Phase: turn.Idle, Version: 1, Answered: 1, Seq: 1},
	})
	if err = errors.Join(err, kept.Close()); err != nil {
		t.Fatal(err)
	}
	do(t, nil, "", "doctor", "--store", url, "--repair").expect(t, failure, "(left: repairing it would be guessing)\n", "")
	do(t, nil, "", "doctor", "--store", url, "--repair").expect(t, failure, "1 finding, 0 repaired, 1 left.", "")
}

func TestKeepingRefuses(t *testing.T) {
	url := seeded(t, right)
	missing := "sqlite:" + filepath.Join(t.TempDir(), "missing.db")
	tests := []struct {
		name   string
		args   []string
		code   int
		stderr string
	}{
		{"a doctor without a store", []string{"doctor"}, misuse, "--store"},
		{"a doctor of a store that is not there", []string{"doctor", "--store", missing}, failure, "there is no file"},
		{"a doctor of a memory", []string{"doctor", "--store", "memory:"}, misuse, "a store in memory is empty"},
		{"a doctor of a store of a later build", []string{"doctor", "--store", "nats://localhost"}, misuse, "there is no store \"nats\"; use sqlite:PATH"},
		{"a copy without a folder", []string{"copy", "--from", url, "--to", "sqlite:" + filepath.Join(t.TempDir(), "a/b.db")}, failure, "does not exist: create it"},
		{"a copy without a target", []string{"copy", "--from", url}, misuse, "--to"},
		{"a copy from a store that is not there", []string{"copy", "--from", missing, "--to", url}, failure, "there is no file"},
		{"a copy to itself", []string{"copy", "--from", url, "--to", url}, misuse, "are the same store"},
		{"a copy to a memory", []string{"copy", "--from", url, "--to", "memory:"}, misuse, "a store in memory is empty"},
		{"a copy with batches of nothing", []string{"copy", "--from", url, "--to", missing, "--batch=0"}, misuse, "--batch must be between 1 and 1000"},
		{"a copy to a store with conversations", []string{"copy", "--from", url, "--to", seeded(t, right)}, failure, "the target is not empty"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			do(t, nil, "", test.args...).expect(t, test.code, "", test.stderr)
		})
	}
}

func TestKeepingRefusesAStoreInUse(t *testing.T) {
	url := seeded(t, right)
	kept, err := sqlite.Open(strings.TrimPrefix(url, "sqlite:"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	for _, args := range [][]string{{"doctor", "--store", url}, {"copy", "--from", url, "--to", url + "2"}} {
		do(t, nil, "", args...).expect(t, failure, "", store.ErrInUse.Error())
	}
}

func TestDoctorNamesBotsThatNoNodeServes(t *testing.T) {
	url := seeded(t, right)
	const bot = "bots: {%s: {responder: {kind: echo}, delivery: {kind: none}}}\n"
	other, same := write(t, "other.yaml", fmt.Sprintf(bot, "sales")), write(t, "same.yaml", fmt.Sprintf(bot, "support"))
	do(t, nil, "", "doctor", "--store", url, "--config", other).expect(t, success,
		"bot support: 1 conversation waiting for a node since 2025-06-15 15:06:40Z: the configuration does not have this bot. Give a node", "")
	do(t, nil, "", "doctor", "--store", url, "--config", other, "--json").expect(t, success, `{"bot":"support","unserved":1,"since":"2025-06-15T15:06:40Z"}`, "")
	if got := do(t, nil, "", "doctor", "--store", url, "--config", same); strings.Contains(got.stdout, "waiting for a node") {
		t.Errorf("a bot that is configured: %s", got.stdout)
	}
	do(t, nil, "", "doctor", "--store", url, "--config", "missing.yaml").expect(t, failure, "", "there is no configuration missing.yaml")
}
