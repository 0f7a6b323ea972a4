package testservers

import (
	"errors"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"
)

func ask(t *testing.T, url, query string) (answer string, err error) {
	t.Helper()
	db, err := pgx.Connect(t.Context(), url)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, db.Close(t.Context())) }()
	err = db.QueryRow(t.Context(), query).Scan(&answer)
	return answer, err
}

// A server outlives a stop and a crash with what it holds, and leaves nothing
// behind at the end.
func TestPostgresRestarts(t *testing.T) {
	var folder string
	t.Run("while it runs", func(t *testing.T) {
		server := NewPostgres(t)
		folder = server.folder
		url, other := server.URL(t), server.URL(t)
		if _, err := ask(t, url, `CREATE TABLE kept AS SELECT 'yes' AS answer`); !errors.Is(err, pgx.ErrNoRows) {
			t.Fatalf("create a table: %v", err)
		}
		if _, err := ask(t, other, `SELECT answer FROM kept`); err == nil {
			t.Error("two databases share a table")
		}
		for name, end := range map[string]func(testing.TB){"stop": server.Stop, "kill": server.Kill} {
			end(t)
			if _, err := ask(t, url, `SELECT 'here'`); err == nil {
				t.Errorf("%s: it still answers", name)
			}
			server.Start(t)
			if answer, err := ask(t, url, `SELECT answer FROM kept`); answer != "yes" {
				t.Errorf("%s: got %q, %v", name, answer, err)
			}
		}
		if fsync, err := ask(t, url, `SHOW fsync`); fsync != "on" {
			t.Errorf("fsync is %q, %v", fsync, err)
		}
	})
	if _, err := os.Stat(folder); folder == "" || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder %q is still there: %v", folder, err)
	}
}
