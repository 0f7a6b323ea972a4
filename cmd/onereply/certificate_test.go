package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/onereply/onereply/server/config"
)

// issue writes a certificate with this number and its key.
func issue(t *testing.T, files config.TLS, number int64) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := x509.Certificate{SerialNumber: big.NewInt(number), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	cert, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	put := func(file, kind string, content []byte) {
		// Renamed into place, as programs that renew certificates do: never half a file.
		if err := os.WriteFile(file+".new", pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
	put(files.Cert, "CERTIFICATE", cert)
	put(files.Key, "PRIVATE KEY", secret)
	parsed, err := x509.ParseCertificate(cert)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return pool
}

// TestTheCertificateIsReadAgain when its files change, once they fit together.
func TestTheCertificateIsReadAgain(t *testing.T) {
	folder := t.TempDir()
	files := config.TLS{Cert: filepath.Join(folder, "cert"), Key: filepath.Join(folder, "key")}
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	if _, err := newCertificate(files, logger); err == nil || !strings.Contains(err.Error(), files.Cert) {
		t.Errorf("without files: %v", err)
	}
	if none, err := newCertificate(config.TLS{}, logger); none != nil || err != nil {
		t.Errorf("without tls: %v, %v", none, err)
	}
	issue(t, files, 1)
	c := &certificate{files: files, log: logger}
	if err := c.read(); err != nil {
		t.Fatal(err)
	}
	c.seen = c.stat()
	now := time.Now()
	number := func() int64 {
		t.Helper()
		now = now.Add(lookEvery)
		parsed, err := x509.ParseCertificate(c.current(now).Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		return parsed.SerialNumber.Int64()
	}
	if got := number(); got != 1 || log.Len() != 0 {
		t.Errorf("number %d, logged %s", got, log.String())
	}
	issue(t, files, 2)
	if got := number(); got != 2 {
		t.Errorf("after a change it is number %d", got)
	}
	if err := os.WriteFile(files.Key, []byte("half a ke"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if got := number(); got != 2 {
			t.Errorf("with half a key it is number %d", got)
		}
	}
	if err := os.Remove(files.Key); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		number()
	}
	if n := strings.Count(log.String(), "the old one stays"); n != 2 {
		t.Errorf("two faults are told %d times: %s", n, log.String())
	}
	issue(t, files, 3)
	if got := number(); got != 3 {
		t.Errorf("after it was mended it is number %d", got)
	}
}

// TestANodeWithACertificate speaks TLS 1.2 and later, and nothing else.
func TestANodeWithACertificate(t *testing.T) {
	folder := t.TempDir()
	files := config.TLS{Cert: filepath.Join(folder, "cert"), Key: filepath.Join(folder, "key")}
	pool := issue(t, files, 1)
	file := filepath.Join(folder, "onereply.yaml")
	text := "listen: 127.0.0.1:0\nstore: sqlite:" + filepath.Join(folder, "db") + "\ntls: {cert: " + files.Cert + ", key: " + files.Key + "}\n" + reloadedBots
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := spawn(t, "serve", "--config", file)
	address := strings.TrimPrefix(p.url, "http://")
	if !strings.Contains(p.first, "https://"+address) {
		t.Errorf("it announces %s", p.first)
	}
	get := func(scheme string, most uint16) (int, error) {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS10, MaxVersion: most}}
		defer transport.CloseIdleConnections()
		response, err := (&http.Client{Transport: transport, Timeout: waitLimit}).Get(scheme + address + "/healthz")
		if err != nil {
			return 0, err
		}
		return response.StatusCode, response.Body.Close()
	}
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		if status, err := get("https://", version); err != nil || status != http.StatusOK {
			t.Errorf("%s: status %d, %v", tls.VersionName(version), status, err)
		}
	}
	if _, err := get("https://", tls.VersionTLS11); err == nil {
		t.Error("it speaks TLS 1.1")
	}
	if status, err := get("http://", 0); err == nil && status == http.StatusOK {
		t.Error("it speaks plain HTTP too")
	}
	p.signal(t)
	p.ends(t, success)
}
