package maintenance

import (
	"crypto/rand"

	"github.com/onereply/onereply/store"
)

// newOp returns an Op that no other write has. 16 random bytes suffice for that.
func newOp() (op store.Op) {
	rand.Read(op[:]) // never fails
	return op
}
