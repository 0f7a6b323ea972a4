package postgres

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

func TestAddressesThatAreRefused(t *testing.T) {
	for name, test := range map[string]struct{ url, want string }{
		"no URL":            {"host=localhost password=secret", "must be a URL: postgres://"},
		"another scheme":    {"mysql://u:secret@localhost/x", "must be a URL: postgres://"},
		"no such hints":     {"postgres://u:secret@localhost/x?hints=maybe", "it must be on or off"},
		"no such port":      {"postgres://u:secret@localhost:x/x", "must be a URL: postgres://"},
		"a bad parameter":   {"postgres://u:secret@localhost/x?pool_max_conns=many", "pool_max_conns"},
		"nobody is serving": {"postgres://u:secret@127.0.0.1:1/x", "no connection"},
	} {
		s, err := Open(t.Context(), test.url, Options{})
		switch {
		case err == nil:
			t.Errorf("%s: it was opened", name)
			mustClose(t, s)
		case !strings.Contains(err.Error(), test.want):
			t.Errorf("%s: got error %v, want one with %q", name, err, test.want)
		case strings.Contains(err.Error(), "secret"):
			t.Errorf("%s: the error shows the password: %v", name, err)
		}
	}
	for _, count := range []int{-1, maxConnections + 1} {
		if (Options{Connections: count}).Validate() == nil {
			t.Errorf("%d connections are allowed", count)
		}
	}
}

func TestWhatAnAddressSays(t *testing.T) {
	config, o, err := configure("postgres://u@h/x", Options{})
	if err != nil || o.NoHints || config.MaxConns != defaultConnections ||
		config.ConnConfig.DefaultQueryExecMode != pgx.QueryExecModeCacheStatement {
		t.Errorf("without parameters: %+v, %+v, %v", config, o, err)
	}
	config, o, err = configure("postgres://u@h/x?hints=off", Options{}) // as behind a transaction-pooling proxy
	if err != nil || !o.NoHints || config.ConnConfig.DefaultQueryExecMode != pgx.QueryExecModeExec {
		t.Errorf("without hints: %+v, %+v, %v", config, o, err)
	}
	config, o, err = configure("postgres://u@h/x?hints=off&pool_max_conns=5&default_query_exec_mode=simple_protocol", Options{})
	if err != nil || !o.NoHints || config.MaxConns != 5 ||
		config.ConnConfig.DefaultQueryExecMode != pgx.QueryExecModeSimpleProtocol {
		t.Errorf("with parameters: %+v, %+v, %v", config, o, err)
	}
	if config, _, err = configure("postgres://u@h/x?pool_max_conns=5", Options{Connections: 7}); err != nil || config.MaxConns != 7 {
		t.Errorf("the options do not come first: %+v, %v", config, err)
	}
}
