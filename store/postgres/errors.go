package postgres

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/onereply/onereply/store"
)

// explain adds to a failure of the server what a person can do about it. The codes are
// those of PostgreSQL's manual, appendix "Error Codes". A code that is not here, or a
// failure of the network, keeps its own words.
func explain(err error) error {
	var refusal *pgconn.PgError
	if !errors.As(err, &refusal) {
		return err
	}
	advice := ""
	switch refusal.Code {
	case "25006":
		advice = "the server is a read-only standby, or read-only by its settings; use the address of the primary"
	case "28P01", "28000":
		advice = "the server refuses the user or the password; correct the address"
	case "3D000":
		advice = "the database does not exist; create it"
	case "42501":
		advice = "the user lacks a right; start a node once as the owner of the database, which creates the schema onereply, and then again as this user: the error says which rights it needs"
	case "42P01", "42703", "42883", "3F000":
		advice = "the schema is not the one that this program knows; it was changed by a newer program, or by hand"
	case "42P05", "26000":
		advice = "the address leads through a transaction-pooling proxy; add hints=off to it"
	case "53100":
		advice = "the server's disk is full; free some space, and the store goes on by itself"
	case "53300":
		advice = "the server has no connection left; raise its max_connections, lower pool_max_conns, or use a pooling proxy"
	case "57014":
		advice = "the server ended the statement, by its statement_timeout or because somebody asked it to"
	}
	if advice == "" {
		return err
	}
	return fmt.Errorf("%s: %w", advice, err)
}

// outcome says what a failed write has left behind.
//
// It is certain that nothing was written if nothing was sent, or if the server
// answered with an error: a call is one transaction, and the answer comes after
// its end. But a session that ends tells so too, at any moment, and so does a
// proxy that has lost the server: those messages are FATAL.
//
// In doubt the outcome is unknown. An unknown outcome costs the caller a read; one that
// was wrongly called certain would cost a message.
func outcome(err error) error {
	if err == nil || errors.Is(err, store.ErrNotApplied) {
		return err
	}
	if errors.Is(err, errNotSent) || pgconn.SafeToRetry(err) {
		return notApplied(err)
	}
	var refusal *pgconn.PgError
	if errors.As(err, &refusal) && certain(refusal) {
		return notApplied(err)
	}
	return fmt.Errorf("%w: %w", store.ErrUnknown, err)
}

// certain reports whether the server has rolled back what it complains about. Class 08
// is a failed connection and 57P an ended session: either may come after the commit.
func certain(refusal *pgconn.PgError) bool {
	severity := refusal.SeverityUnlocalized
	if severity == "" { // a proxy
		severity = refusal.Severity
	}
	connection := strings.HasPrefix(refusal.Code, "08") || strings.HasPrefix(refusal.Code, "57P")
	return severity == "ERROR" && !connection && refusal.Code != "40003" // statement completion unknown
}

func notApplied(err error) error { return fmt.Errorf("%w: %w", store.ErrNotApplied, err) }
