package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/onereply/onereply/internal/proof/testservers"
)

// The road from one file to servers, and back.
func TestCopyFromStoreToStore(t *testing.T) {
	from := seeded(t, right)
	for _, to := range []string{
		testservers.NewPostgres(t).URL(t),
		testservers.NewRedis(t).URL(),
		"sqlite:" + filepath.Join(t.TempDir(), "back.db"),
	} {
		do(t, nil, "", "copy", "--from", from, "--to", to).expect(t, success,
			"1 conversation copied with 1 entry, 0 there already, 0 left as they were, 0 that can't be read.\n", "")
		do(t, nil, "", "copy", "--from", from, "--to", to, "--resume").expect(t, success, "Verified: both hold the same.\n"+notCopied, "")
		do(t, nil, "", "copy", "--from", from, "--to", to, "--resume", "--json").expect(t, success,
			`{"copied":0,"skipped":1,"unread":0,"left":0,"entries":0,"from":{"conversations":1,"entries":1,"timers":1,"pending":1},"to":{"conversations":1,"entries":1,"timers":1,"pending":1},"verified":true}`, "")
		do(t, nil, "", "doctor", "--store", to).expect(t, success, "nothing is wrong", "")
		from = to
	}
}

func TestCopyNamesWhatDiffers(t *testing.T) {
	from, to := seeded(t, right), seeded(t, 0)
	do(t, nil, "", "doctor", "--store", to, "--repair").expect(t, success, "", "") // a write of its own
	do(t, nil, "", "copy", "--from", from, "--to", to, "--resume").expect(t, failure, "support/c1: copied: the target holds other writes", "")
	do(t, nil, "", "copy", "--from", from, "--to", to, "--resume").expect(t, failure, "NOT the same: see above.", "")
}

// Who only looks, or copies from a store, needs no right to write there.
func TestReadersNeedNoRightToWrite(t *testing.T) {
	url := testservers.NewPostgres(t).URL(t)
	do(t, nil, "", "copy", "--from", seeded(t, right), "--to", url).expect(t, success, "1 conversation copied", "")
	db, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(t.Context())
	for _, statement := range []string{
		"CREATE ROLE reader LOGIN", "GRANT USAGE ON SCHEMA onereply TO reader", "GRANT SELECT ON ALL TABLES IN SCHEMA onereply TO reader",
	} {
		if _, err := db.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	reader := strings.Replace(url, "onereply@", "reader@", 1)
	do(t, nil, "", "doctor", "--store", reader).expect(t, success, "nothing is wrong", "")
	do(t, nil, "", "copy", "--from", reader, "--to", "sqlite:"+filepath.Join(t.TempDir(), "copy.db")).expect(t, success, "Verified", "")
	do(t, nil, "", "doctor", "--store", reader, "--repair").expect(t, failure, "", "GRANT INSERT, UPDATE, DELETE ON")
}

// Who only looks makes nothing where nothing is, such as at a mistyped address.
func TestReadersMakeNothing(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.db")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, url := range []string{"sqlite:" + empty, testservers.NewPostgres(t).URL(t), testservers.NewRedis(t).URL()} {
		for range 2 {
			do(t, nil, "", "doctor", "--store", url).expect(t, failure, "", "there is nothing of onereply")
			do(t, nil, "", "copy", "--from", url, "--to", "sqlite:"+filepath.Join(t.TempDir(), "copy.db")).expect(t, failure, "", "there is nothing of onereply")
		}
		create(t, url)
		do(t, nil, "", "doctor", "--store", url).expect(t, success, "nothing is wrong", "")
	}
}

// create makes an empty store, as a node does when it starts.
func create(t *testing.T, url string) {
	t.Helper()
	kept, err := openSupported(t.Context(), url, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := kept.Close(); err != nil {
		t.Fatal(err)
	}
}
