package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// The tables and functions of the schema onereply that this program uses. A statement
// that uses another one needs it here: else a user without the right finds out late.
var (
	usedTables    = []string{"conversations", "timers", "entries", "message_ids"}
	usedFunctions = []string{"commit_v1", "delete_v1", "expire_entries_v1", "expire_ids_v1", "expire_conversations_v1"}
)

// In: the tables and the functions that are used, and whether only to read. Out: the
// user, and what it may not do: a right, and on what. A database without
// the schema lacks none: Open creates it first. It reads catalogs only, which everybody may.
const readMissingRights = `WITH there AS (
		SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = 'onereply'
	), relations AS (
		SELECT c.oid, c.relname, r.* FROM there
		JOIN pg_catalog.pg_class AS c ON c.relnamespace = there.oid
		CROSS JOIN (VALUES (1, 'SELECT'), (2, 'INSERT'), (3, 'UPDATE'), (4, 'DELETE')) AS r (number, name)
		WHERE c.relname = ANY ($1::text[]) AND (r.number = 1 OR NOT $3::boolean) OR c.relname = 'schema' AND r.number = 1
	), missing (number, what, name) AS (
		SELECT 0, 'SCHEMA onereply', 'USAGE' FROM there WHERE NOT has_schema_privilege(oid, 'USAGE')
		UNION ALL
		SELECT CASE relname WHEN 'schema' THEN 1 ELSE 10 * array_position($1::text[], relname::text) + number END, 'onereply.' || relname, name
		FROM relations WHERE NOT has_table_privilege(oid, name)
		UNION ALL
		SELECT 1000 + array_position($2::text[], p.proname::text), 'onereply.' || p.proname, 'EXECUTE' FROM there
		JOIN pg_catalog.pg_proc AS p ON p.pronamespace = there.oid
		WHERE p.proname = ANY ($2::text[]) AND NOT $3 AND NOT has_function_privilege(p.oid, 'EXECUTE')
	)
	SELECT quote_ident(current_user), name, what FROM missing ORDER BY number`

// checkRights refuses a user that may not do what calls need: a right that only claims
// need would be missed hours later, and only in the log. The error holds the statements
// that grant all that is missing, ready to be run by the owner of the schema.
func checkRights(ctx context.Context, db *pgx.Conn, readOnly bool) error {
	rows, err := db.Query(ctx, readMissingRights, usedTables, usedFunctions, readOnly)
	if err != nil {
		return fmt.Errorf("read the user's rights: %w", err)
	}
	var user, right, what string
	var missing grants
	if _, err := pgx.ForEachRow(rows, []any{&user, &right, &what}, func() error {
		missing.add(right, what)
		return nil
	}); err != nil {
		return fmt.Errorf("read the user's rights: %w", err)
	}
	if len(missing.objects) == 0 {
		return nil
	}
	return fmt.Errorf("the user %s lacks rights; run as the owner of the schema: %s", user, missing.statements(user))
}

// grants are rights by object, in the order in which they were added.
type grants struct {
	objects []string
	rights  map[string][]string
}

func (g *grants) add(right, object string) {
	if g.rights == nil {
		g.rights = map[string][]string{}
	}
	if g.rights[object] == nil {
		g.objects = append(g.objects, object)
	}
	g.rights[object] = append(g.rights[object], right)
}

// statements give a user the rights; neighbours that lack the same share one, so a user
// without any right gets a few lines to run and not twenty.
func (g *grants) statements(user string) string {
	var all []string
	for i := 0; i < len(g.objects); {
		rights := strings.Join(g.rights[g.objects[i]], ", ")
		first := i
		for ; i < len(g.objects) && strings.Join(g.rights[g.objects[i]], ", ") == rights; i++ {
		}
		on := strings.Join(g.objects[first:i], ", ")
		if rights == "EXECUTE" {
			on = "FUNCTION " + on
		}
		all = append(all, fmt.Sprintf("GRANT %s ON %s TO %s", rights, on, user))
	}
	return strings.Join(all, "; ")
}
