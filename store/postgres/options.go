package postgres

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Options are the settings of a Store. The zero value is good for most.
type Options struct {
	// Connections is how many calls run at once on this node; others wait. 0
	// means what pool_max_conns in the URL says, or 16. More than 1000 is refused.
	// One more is used to hear hints.
	Connections int

	// NoHints turns hints off: no NOTIFY, no LISTEN. Other nodes then learn of a
	// change when they next look. hints=off in the URL does the same. A
	// transaction-pooling proxy can't carry LISTEN.
	NoHints bool

	// ReadOnly is for programs that only look: nothing is created, and the
	// user needs no right to write.
	ReadOnly bool
}

const (
	defaultConnections = 16
	maxConnections     = 1000
)

// Validate reports what is wrong with the options. Open calls it; the URL is checked
// there too, by configure.
func (o Options) Validate() error {
	if o.Connections < 0 || o.Connections > maxConnections {
		return fmt.Errorf("postgres: Connections is %d: it must be between 0 (which means %d) and %d",
			o.Connections, defaultConnections, maxConnections)
	}
	return nil
}

// configure reads the URL. Its errors never show the password, so it leaves out what
// url.Parse complains about, which would quote the text.
//
// It takes hints out of the URL before the driver sees it, which would send an unknown
// parameter to the server, as a setting of the session. Options win over the URL where
// both set the number of connections; hints are off if either says so.
func configure(text string, o Options) (*pgxpool.Config, Options, error) {
	address, err := url.Parse(text)
	if err != nil || !strings.HasPrefix(address.Scheme, "postgres") {
		return nil, o, errors.New("the address must be a URL: postgres://user:password@host:5432/database")
	}
	values := address.Query()
	switch hints := values.Get("hints"); hints {
	case "", "on":
	case "off":
		o.NoHints = true
	default:
		return nil, o, fmt.Errorf("hints=%s in the address: it must be on or off", hints)
	}
	values.Del("hints")
	address.RawQuery = values.Encode()
	config, err := pgxpool.ParseConfig(address.String())
	if err != nil {
		return nil, o, err
	}
	if !values.Has("default_query_exec_mode") {
		// Prepared statements save the server a fifth of the work of a commit. A
		// transaction-pooling proxy can't carry them, as it can't carry hints.
		config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheStatement
		if o.NoHints {
			config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
		}
	}
	switch {
	case o.Connections > 0:
		config.MaxConns = int32(o.Connections)
	case !values.Has("pool_max_conns"):
		config.MaxConns = defaultConnections
	}
	if config.ConnConfig.RuntimeParams["application_name"] == "" {
		config.ConnConfig.RuntimeParams["application_name"] = "onereply"
	}
	return config, o, nil
}
