package postgres

import (
	"testing"

	"github.com/onereply/onereply/internal/proof/testservers"
	"github.com/onereply/onereply/store/storetest"
)

// Behind a transaction-pooling proxy every transaction may run in another
// session, and sessions are shared with others: nothing may be left in one.
func TestContractThroughATransactionPoolingProxy(t *testing.T) {
	url := testservers.PgBouncer(t, testservers.Postgres(t)) + "&hints=off"
	storetest.Run(t, contract(emptied(url)))
	s := openAt(t, url)
	if left := read[int](t, s, `SELECT count(*) FROM pg_prepared_statements`); left > 0 {
		t.Errorf("%d prepared statements are left in a session", left)
	}
	if left := read[int](t, s, `SELECT count(*) FROM pg_listening_channels()`); left > 0 {
		t.Errorf("a session listens to %d channels", left)
	}
}
