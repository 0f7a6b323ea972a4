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

// certificate is that of the node. It is read again when its files have changed, so that
// whoever renews it need not restart the node. As long as the new files can't be read
// together, the old certificate is used on. It may be used by many goroutines at once.
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
	c := &certificate{files: files, log: log}
	if err := c.read(); err != nil {
		return nil, err
	}
	c.seen, c.looked = c.stat(), time.Now()
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
	if found := c.stat(); !stillSame(c.seen[0], found[0]) || !stillSame(c.seen[1], found[1]) {
		c.seen = found
		if err := c.read(); err != nil {
			c.log.Error("the certificate has changed and can't be used; the old one stays", "err", err)
		} else {
			c.log.Info("the certificate was read again")
		}
	}
	return c.now
}

// stillSame also holds where there was no file, and is none.
func stillSame(a, b os.FileInfo) bool { return a == nil && b == nil || sameFile(a, b) }

// stat is the files as they are; nil where one is not there.
func (c *certificate) stat() (found [2]os.FileInfo) {
	found[0], _ = os.Stat(c.files.Cert)
	found[1], _ = os.Stat(c.files.Key)
	return found
}

func (c *certificate) read() error {
	read, err := tls.LoadX509KeyPair(c.files.Cert, c.files.Key)
	if err != nil {
		return fmt.Errorf("read the certificate of tls: %w", err)
	}
	c.now = &read
	return nil
}
