package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"
)

// Options are the settings of a Store. The zero value is good for most. The URL
// may set them too: ?shards=, ?prefix=, ?timeout=, ?allow_eviction=true.
type Options struct {
	// Shards is how many parts the conversations are spread over: the most
	// servers of a cluster that can share the work. It is fixed when the first
	// node starts on an empty server, which remembers it; 0 means what is
	// remembered, and 16 for a new one. Between 1 and 1024.
	Shards int

	// Prefix is what all keys begin with, so that several deployments can share a
	// server: up to 64 letters, digits, '.', '_' and '-'. "" means "onereply".
	Prefix string

	// AllowEviction opens a server that may throw keys away when its memory is
	// full. It can throw away acknowledged messages.
	AllowEviction bool

	// Timeout bounds each call, besides the call's own context; 0 means 5s. A
	// commit without an answer within it has an unknown outcome.
	Timeout time.Duration

	// ReadOnly is for programs that only look: an empty server stays empty.
	ReadOnly bool
}

const (
	defaultShards  = 16
	maxShards      = 1024
	defaultPrefix  = "onereply"
	defaultTimeout = 5 * time.Second
)

var prefixPattern = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// Validate reports all that is wrong with the options.
func (o Options) Validate() error {
	var problems []error
	if o.Shards < 0 || o.Shards > maxShards {
		problems = append(problems, fmt.Errorf("shards is %d: it must be between 1 and %d, or 0 for what the server remembers", o.Shards, maxShards))
	}
	if o.Prefix != "" && !prefixPattern.MatchString(o.Prefix) {
		problems = append(problems, fmt.Errorf("prefix is %q: it must be 1 to 64 letters, digits, '.', '_' or '-'", o.Prefix))
	}
	if o.Timeout < 0 {
		problems = append(problems, fmt.Errorf("timeout is %v: it must not be negative", o.Timeout))
	}
	return errors.Join(problems...)
}

// clientSettings are the URL's settings that the client library reads.
var clientSettings = []string{"addr", "db", "dial_timeout", "skip_verify", "client_name", "master_set"}

// ownSettings are the URL's settings that are Options. Any setting in neither list is
// refused: a misspelt one would otherwise be ignored, and nobody would notice.
var ownSettings = map[string]func(*Options, string) error{
	"shards": func(o *Options, value string) (err error) {
		o.Shards, err = strconv.Atoi(value)
		return err
	},
	"prefix": func(o *Options, value string) error {
		o.Prefix = value
		return nil
	},
	"allow_eviction": func(o *Options, value string) (err error) {
		o.AllowEviction, err = strconv.ParseBool(value)
		return err
	},
	"timeout": func(o *Options, value string) (err error) {
		o.Timeout, err = time.ParseDuration(value)
		return err
	},
}

// parseURL reads what to connect to, and the options that the URL sets, which
// win over those in the program. Its errors never show the password.
func parseURL(text string, o Options) (rueidis.ClientOption, Options, error) {
	parsed, err := url.Parse(text)
	if err != nil {
		var parse *url.Error
		if errors.As(err, &parse) {
			err = parse.Err // the error itself quotes the whole URL
		}
		return rueidis.ClientOption{}, o, fmt.Errorf("the URL can't be read (write redis://HOST:PORT): %w", err)
	}
	for name, values := range parsed.Query() {
		set, own := ownSettings[name]
		if !own && !slices.Contains(clientSettings, name) {
			return rueidis.ClientOption{}, o, fmt.Errorf("the URL has a setting %q that is not known", name)
		}
		if !own {
			continue
		}
		if err := set(&o, values[len(values)-1]); err != nil {
			return rueidis.ClientOption{}, o, fmt.Errorf("the URL's %s is not right: %w", name, err)
		}
	}
	client, err := rueidis.ParseURL(text)
	if err != nil {
		return client, o, err
	}
	return withOurRules(client), o.withDefaults(), o.Validate()
}

// withOurRules sets what the contract needs of the client library. A retry by the library
// would send a write twice without the caller's knowledge; the second answer would be a
// conflict with the first.
func withOurRules(client rueidis.ClientOption) rueidis.ClientOption {
	client.DialCtxFn = dialer(client.DialCtxFn)
	client.DisableRetry = true     // whoever calls decides what to do without an answer
	client.DisableCache = true     // a cached record would only cause conflicts
	client.AlwaysPipelining = true // a call ends when its context does, and leaves the connection whole
	return client
}

func (o Options) withDefaults() Options {
	if o.Prefix == "" {
		o.Prefix = defaultPrefix
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	return o
}

// dial opens a connection.
type dial = func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error)

// countedBy counts the connections that were made. A new one may lead to a server that
// lost its data, so shardCount looks at the number.
func countedBy(dial dial, made *atomic.Uint64) dial {
	return func(ctx context.Context, address string, d *net.Dialer, config *tls.Config) (net.Conn, error) {
		connection, err := dial(ctx, address, d, config)
		if err == nil {
			made.Add(1)
		}
		return connection, err
	}
}

// dialer marks the failures of a dial: where there is no connection nothing was
// sent. A dial of nil is TCP, with TLS if it is configured.
func dialer(custom dial) dial {
	return func(ctx context.Context, address string, d *net.Dialer, config *tls.Config) (connection net.Conn, err error) {
		switch {
		case custom != nil:
			connection, err = custom(ctx, address, d, config)
		case config != nil:
			connection, err = (&tls.Dialer{NetDialer: d, Config: config}).DialContext(ctx, "tcp", address)
		default:
			connection, err = d.DialContext(ctx, "tcp", address)
		}
		if err != nil {
			return nil, fmt.Errorf("%w %s: %w", errNoConnection, address, err)
		}
		return connection, nil
	}
}
