package keeper

import (
	"testing"

	"github.com/onereply/onereply/internal/testservers"
)

func TestMain(m *testing.M) { testservers.Main(m) }
