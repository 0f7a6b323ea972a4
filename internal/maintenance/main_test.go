package maintenance

import (
	"testing"

	"github.com/onereply/onereply/internal/proof/testservers"
)

func TestMain(m *testing.M) { testservers.Main(m) }
