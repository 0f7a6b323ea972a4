package main

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/onereply/onereply/server/config"
)

// certificate is that of the node. It is read again when its files have changed: a renewal
// needs no restart. As long as the new files do not fit together, the old certificate stays
// in use. It may be used by many goroutines at once.
type certificate struct {
	files config.TLS
	log   *slog.Logger

	mu     sync.Mutex
	now    *tls.Certificate
	seen   [2]os.FileInfo // of the files that were read last, or could not be
	looked time.Time
}

// newCertificate reads the certificate, and returns nil where there is none.
func newCertificate(files config.TLS, log *slog.Logger) (*tls.Config, error) {
	if files == (config.TLS{}) {
		return nil, nil
	}
	c := &certificate{files: files, log: log, looked: time.Now()}
	c.seen = c.stat() // before the files are read: a later change is then seen
	if err := c.read(); err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current(time.Now()), nil },
	}, nil
}

// current is the certificate for a new connection. The files are looked at once a second at
// most.
func (c *certificate) current(now time.Time) *tls.Certificate {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.looked) < lookEvery {
		return c.now
	}
	c.looked = now
	if found := c.stat(); !sameFile(c.seen[0], found[0]) || !sameFile(c.seen[1], found[1]) {
		c.seen = found
		if err := c.read(); err != nil {
			c.log.Error("the certificate has changed and can't be used; the old one stays", "err", err)
		} else {
			c.log.Info("the certificate was read again")
		}
	}
	return c.now
}

// stat looks at the files; one that is not there is nil.
func (c *certificate) stat() (found [2]os.FileInfo) {
	found[0], _ = os.Stat(c.files.Cert)
	found[1], _ = os.Stat(c.files.Key)
	return found
}

// read takes the certificate from its files, or leaves it as it is.
func (c *certificate) read() error {
	read, err := tls.LoadX509KeyPair(c.files.Cert, c.files.Key)
	if err != nil {
		return fmt.Errorf("read the certificate of tls: %w", err)
	}
	c.now = &read
	return nil
}
