package postgres

import (
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/onereply/onereply/internal/proof/testservers"
	"github.com/onereply/onereply/store"
)

// asRole makes a role without rights, until remove is called, and gives the address
// under which it comes.
func asRole(t *testing.T, owner *Store, address, role string) (own string, remove func()) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User(role)
	name := pgx.Identifier{role}.Sanitize()
	sql(t, owner, "CREATE ROLE "+name+" LOGIN")
	return u.String(), func() {
		t.Helper()
		sql(t, owner, "DROP OWNED BY "+name)
		sql(t, owner, "DROP ROLE "+name)
	}
}

// A role that lacks a right is refused at the start, with what to run, and not at
// the first message or at the first timer.
func TestARoleThatLacksARightIsRefused(t *testing.T) {
	address := testservers.Postgres(t)
	owner := openAt(t, address)
	node, remove := asRole(t, owner, address, "some node")
	defer remove()
	const whole = `GRANT USAGE ON SCHEMA onereply TO "some node"; ` +
		`GRANT SELECT ON onereply.schema TO "some node"; ` +
		`GRANT SELECT, INSERT, UPDATE, DELETE ON onereply.conversations, onereply.timers, onereply.entries, onereply.message_ids TO "some node"; ` +
		`GRANT EXECUTE ON FUNCTION onereply.commit_v1, onereply.delete_v1, onereply.expire_entries_v1, onereply.expire_ids_v1, onereply.expire_conversations_v1 TO "some node"`
	for _, statement := range strings.Split(whole, "; ") {
		if strings.Contains(statement, "FUNCTION") {
			sql(t, owner, `REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA onereply FROM PUBLIC`)
		}
		_, err := Open(t.Context(), node, Options{})
		if err == nil || !strings.Contains(err.Error(), statement) {
			t.Errorf("Open: got %v\nwant what to run: %s", err, statement)
		}
		sql(t, owner, statement)
	}
	s := openAt(t, node)
	mustCommit(t, s, message(key("c"), store.Op{}, opOf(1), 1))
	if timers, err := s.Claim(t.Context(), start+10_000, 1, 0); err != nil || len(timers) != 1 {
		t.Errorf("Claim: got %v, %v", timers, err)
	}
	if _, err := s.Expire(t.Context(), start, start, 10); err != nil {
		t.Errorf("Expire: %v", err)
	}
	if err := s.Delete(t.Context(), key("c")); err != nil {
		t.Errorf("Delete: %v", err)
	}
	sql(t, owner, `REVOKE UPDATE ON onereply.timers FROM "some node"`)
	_, err := Open(t.Context(), node, Options{})
	if err == nil || !strings.Contains(err.Error(), `run as the owner of the schema: GRANT UPDATE ON onereply.timers TO "some node"`) {
		t.Errorf("Open: got %v", err)
	}
}

// Who only looks, as the doctor does, needs no right to write.
func TestARoleThatMayOnlyRead(t *testing.T) {
	address := testservers.Postgres(t)
	owner := openAt(t, address)
	mustCommit(t, owner, message(key("c"), store.Op{}, opOf(1), 1))
	reader, remove := asRole(t, owner, address, "some reader")
	defer remove()
	sql(t, owner, `REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA onereply FROM PUBLIC`)
	const usage, whole = `GRANT USAGE ON SCHEMA onereply TO "some reader"; `, `GRANT SELECT ON onereply.schema, onereply.conversations, onereply.timers, onereply.entries, onereply.message_ids TO "some reader"`
	if _, err := Open(t.Context(), reader, Options{ReadOnly: true}); err == nil || !strings.HasSuffix(err.Error(), usage+whole) {
		t.Errorf("Open: got %v\nwant what to run: %s", err, usage+whole)
	}
	for statement := range strings.SplitSeq(usage+whole, "; ") {
		sql(t, owner, statement)
	}
	if _, err := Open(t.Context(), reader, Options{}); err == nil || !strings.Contains(err.Error(), "GRANT INSERT") {
		t.Errorf("Open of a node: got %v, want what else it needs", err)
	}
	s, err := Open(t.Context(), reader, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if found, _, err := s.Sweep(t.Context(), "", 10); err != nil || len(found) != 1 {
		t.Errorf("Sweep: got %v, %v", found, err)
	}
	if page, err := s.List(t.Context(), store.ListQuery{}); err != nil || len(page.Items) != 1 {
		t.Errorf("List: got %v, %v", page, err)
	}
	if due, err := s.Due(t.Context(), start+10_000, 10); err != nil || len(due) != 1 {
		t.Errorf("Due: got %v, %v", due, err)
	}
	if entries, _, err := s.Entries(t.Context(), key("c"), store.EntryQuery{}); err != nil || len(entries) != 1 {
		t.Errorf("Entries: got %v, %v", entries, err)
	}
	if _, err := s.Commit(t.Context(), message(key("d"), store.Op{}, opOf(2), 1)); !errors.Is(err, store.ErrNotApplied) {
		t.Errorf("Commit: got %v, want ErrNotApplied", err)
	}
}

// Each table and function that there is has its rights looked at. The sequence of an
// identity column needs none.
func TestTheRightsOfEverythingAreLookedAt(t *testing.T) {
	s := openNew(t)
	unknown := read[[]string](t, s, `SELECT array_agg(name) FROM (
		SELECT c.relname::text AS name FROM pg_class AS c WHERE c.relnamespace = 'onereply'::regnamespace AND c.relkind NOT IN ('i', 't', 'S')
		UNION ALL SELECT p.proname::text FROM pg_proc AS p WHERE p.pronamespace = 'onereply'::regnamespace) AS everything
		WHERE name <> ALL ($1::text[])`, slices.Concat([]string{"schema"}, usedTables, usedFunctions))
	if len(unknown) > 0 {
		t.Errorf("nobody looks at the rights on %v", unknown)
	}
}
