package postgres

import (
	"slices"
	"testing"

	"github.com/onereply/onereply/internal/proof/testservers"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/store/storetest"
)

func TestContract(t *testing.T) {
	storetest.Run(t, contract(emptied(testservers.Postgres(t))))
}

func TestDifferential(t *testing.T) {
	storetest.Differential(t, emptied(testservers.Postgres(t)), storetest.Effort{})
}

// emptied opens a database again and again, and empties it first: that is much
// faster than a new one each time.
func emptied(url string) func(t *testing.T) store.Store {
	return func(t *testing.T) store.Store {
		s := openAt(t, url)
		sql(t, s, `WITH a AS (DELETE FROM onereply.timers), b AS (DELETE FROM onereply.entries),
			c AS (DELETE FROM onereply.message_ids) DELETE FROM onereply.conversations`)
		return s
	}
}

// contract are the options of the suite for a store that open opens.
func contract(open func(t *testing.T) store.Store) storetest.Options {
	return storetest.Options{
		Open: open,
		Corrupt: func(t *testing.T, s store.Store, key store.Key) {
			sql(t, s.(*Store), `UPDATE onereply.conversations SET record = '{broken' WHERE conversation = $1`, key.Conversation)
		},
		Reopen: func(t *testing.T, s store.Store) store.Store {
			mustClose(t, s.(*Store))
			return reopen(t, s.(*Store))
		},
		Second: func(t *testing.T, s store.Store) (store.Store, error) {
			return reopen(t, s.(*Store)), nil
		},
	}
}

// reopen opens the database of a store, as another process would.
func reopen(t *testing.T, s *Store) *Store {
	t.Helper()
	return openWith(t, s.pool.Config().ConnString(), Options{NoHints: !s.hints.on})
}

// Each way to run a statement that a URL can ask for keeps the contract.
func TestContractInEachMode(t *testing.T) {
	for _, mode := range []string{"simple_protocol", "cache_statement"} {
		t.Run(mode, func(t *testing.T) {
			storetest.Run(t, contract(emptied(testservers.Postgres(t)+"&default_query_exec_mode="+mode)))
		})
	}
}

// A database may sort as people do; names are compared bytewise all the same.
func TestADatabaseOfAnotherCollation(t *testing.T) {
	s := openAt(t, testservers.PostgresDatabase(t, "TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en'"))
	if !read[bool](t, s, `SELECT 'a' < 'B' AND 'é' < 'z'`) {
		t.Fatal("the database sorts bytewise: it proves nothing")
	}
	want := []string{"A", "B", "Z", "a", "b", "z", "é"}
	for i, name := range []string{"é", "a", "Z", "A", "z", "b", "B"} {
		mustCommit(t, s, message(key(name), store.Op{}, opOf(uint64(i+1)), 1))
	}
	var got []string
	for query, more := (store.ListQuery{Limit: 2}), true; more; more = query.Cursor != "" {
		page, err := s.List(t.Context(), query)
		if err != nil {
			t.Fatalf("List: %v", err)
		}
		for _, item := range page.Items {
			got = append(got, item.Key.Conversation)
		}
		query.Cursor = page.Next
	}
	if !slices.Equal(got, want) {
		t.Errorf("List: got %q, want %q", got, want)
	}
}
