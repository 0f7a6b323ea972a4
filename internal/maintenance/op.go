package maintenance

import (
	"crypto/rand"

	"github.com/onereply/onereply/store"
)

// newOp returns an Op that no other write has.
func newOp() (op store.Op) {
	rand.Read(op[:]) // never fails
	return op
}
