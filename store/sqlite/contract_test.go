package sqlite

import (
	"testing"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/store/storetest"
)

func TestContract(t *testing.T) {
	storetest.Run(t, storetest.Options{
		Open: func(t *testing.T) store.Store { return openNew(t) },
		Corrupt: func(t *testing.T, s store.Store, key store.Key) {
			err := s.(*Store).write(t.Context(), func(db *connection) error {
				_, err := db.run(`UPDATE conversations SET record = '{broken' WHERE conversation = ?1`, key.Conversation)
				return err
			}, "corrupt")
			if err != nil {
				t.Fatal(err)
			}
		},
		Reopen: func(t *testing.T, s store.Store) store.Store {
			path := s.(*Store).path
			if err := s.Close(); err != nil {
				t.Fatalf("Close: %v", err)
			}
			return openAt(t, path)
		},
		Second: func(_ *testing.T, s store.Store) (store.Store, error) {
			return Open(s.(*Store).path, Options{})
		},
	})
}

func TestDifferential(t *testing.T) {
	storetest.Differential(t, func(t *testing.T) store.Store { return openNew(t) }, storetest.Effort{})
}
