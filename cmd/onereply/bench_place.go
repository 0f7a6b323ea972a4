package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/redis/rueidis"

	"github.com/onereply/onereply/internal/proof/bench"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/store/sqlite"
)

// benchPlace is where the measured stores are. "" stands for files. On a server each
// store has a database, or a prefix, of its own, so a run changes nothing else that is
// there. The errors here do not quote the URL: it may hold a password.
func benchPlace(address string) (bench.Place, error) {
	if address == "" {
		return benchFiles{}, nil
	}
	if err := storeSupported(address); err != nil {
		return nil, err
	}
	parsed, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("the store's URL can't be read") // the error itself quotes it, with the password
	}
	switch parsed.Scheme {
	case "postgres", "postgresql":
		return benchPostgres{parsed}, nil
	case "redis", "rediss", "valkey", "valkeys":
		return benchRedis{parsed}, nil
	}
	return nil, fmt.Errorf("a store of the kind %q can't be measured: use postgres:// or redis://, or no URL for the embedded one", parsed.Scheme)
}

// benchFiles is the embedded store: one file in the folder, with its write-ahead log.
type benchFiles struct{}

func (benchFiles) Open(_ context.Context, folder string) (store.Store, error) {
	return sqlite.Open(filepath.Join(folder, "onereply.db"), sqlite.Options{})
}

// Size sums up all files of the folder, the log included. The log may go while the folder
// is read.
func (benchFiles) Size(_ context.Context, folder string) (int64, error) {
	var size int64
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := os.Stat(path)
		if err == nil {
			size += info.Size()
		} else if errors.Is(err, fs.ErrNotExist) {
			err = nil // the log's index goes when the store is closed
		}
		return err
	})
	return size, err
}

func (benchFiles) Remove(context.Context, string) error { return nil } // with the folder

// benchName names the store of a folder on a server, after the folder of the run and the
// folder itself. Another process that gets the same folder finds the same store. "-" can't
// stand in the name of a database without quotes.
func benchName(folder string) string {
	name := filepath.Base(filepath.Dir(folder)) + "_" + filepath.Base(folder)
	return strings.ReplaceAll(name, "-", "_")
}

// benchPostgres is a server on which the role of the URL may create databases.
type benchPostgres struct{ url *url.URL }

// Open opens the folder's database, and creates it first where it is missing. A process
// that takes over after a kill finds it there. The name is put into the statement without
// quotes: it is one of a temporary folder, with the hyphens replaced.
func (b benchPostgres) Open(ctx context.Context, folder string) (store.Store, error) {
	name := benchName(folder)
	known, err := b.ask(ctx, "SELECT count(*) FROM pg_database WHERE datname = $1", name)
	if err == nil && known == 0 {
		_, err = b.ask(ctx, "CREATE DATABASE "+name)
	}
	if err != nil {
		return nil, fmt.Errorf("make a database to measure in (the role of the URL needs CREATEDB): %w", err)
	}
	own := *b.url
	own.Path = "/" + name
	return openSupported(ctx, own.String(), false)
}

// Size is that of the whole database, indexes included.
func (b benchPostgres) Size(ctx context.Context, folder string) (int64, error) {
	return b.ask(ctx, "SELECT pg_database_size($1::name)", benchName(folder))
}

// Remove drops the database, with the connections that a killed process left.
func (b benchPostgres) Remove(ctx context.Context, folder string) error {
	_, err := b.ask(ctx, "DROP DATABASE IF EXISTS "+benchName(folder)+" WITH (FORCE)")
	return err
}

// ask runs one statement, on a connection of its own to the database of the URL: the
// folder's database may not be there yet. A SELECT returns its number.
func (b benchPostgres) ask(ctx context.Context, statement string, arguments ...any) (number int64, err error) {
	plain := *b.url
	values := plain.Query()
	values.Del("hints") // parameters of the store, unknown to the driver
	values.Del("pool_max_conns")
	plain.RawQuery = values.Encode()
	connection, err := pgx.Connect(ctx, plain.String())
	if err != nil {
		return 0, err
	}
	defer connection.Close(ctx)
	if !strings.HasPrefix(statement, "SELECT") {
		_, err := connection.Exec(ctx, statement)
		return 0, err
	}
	err = connection.QueryRow(ctx, statement, arguments...).Scan(&number)
	return number, err
}

// benchRedis is a server, on which each store has a prefix of its own.
type benchRedis struct{ url *url.URL }

// Open opens the store under the folder's prefix. Redis needs no creation.
func (b benchRedis) Open(ctx context.Context, folder string) (store.Store, error) {
	own := *b.url
	values := own.Query()
	values.Set("prefix", benchName(folder))
	own.RawQuery = values.Encode()
	return openSupported(ctx, own.String(), false)
}

// Size is the memory of the whole servers, other data included: a server does not tell
// how much belongs to one prefix. Measure on a server that has nothing else to do.
func (b benchRedis) Size(ctx context.Context, _ string) (size int64, err error) {
	err = b.each(func(server rueidis.Client) error {
		info, err := server.Do(ctx, server.B().Info().Section("memory").Build()).ToString()
		if err != nil {
			return err
		}
		_, rest, _ := strings.Cut(info, "used_memory:")
		number, _, _ := strings.Cut(rest, "\r\n")
		used, err := strconv.ParseInt(number, 10, 64)
		size += used
		return err
	})
	return size, err
}

// Remove deletes the keys with the folder's prefix. It scans, because nothing else finds
// keys by their name, and a scan does not block the server. Each key is deleted by a
// command of its own, and the server frees its memory in the background.
func (b benchRedis) Remove(ctx context.Context, folder string) error {
	pattern := "*" + benchName(folder) + "*"
	return b.each(func(server rueidis.Client) error {
		for place := uint64(0); ; {
			found, err := server.Do(ctx, server.B().Scan().Cursor(place).Match(pattern).Count(10_000).Build()).AsScanEntry()
			if err != nil {
				return err
			}
			for _, key := range found.Elements { // on a cluster they are in several slots
				if err := server.Do(ctx, server.B().Unlink().Key(key).Build()).Error(); err != nil {
					return err
				}
			}
			if place = found.Cursor; place == 0 {
				return nil
			}
		}
	})
}

// each calls do for each server: one, or all of a cluster. The parameters of the URL that
// only the store knows are removed first. The error of a wrong URL is replaced, because
// it would quote the password.
func (b benchRedis) each(do func(rueidis.Client) error) error {
	plain := *b.url
	values := plain.Query()
	for _, own := range []string{"shards", "prefix", "allow_eviction", "timeout"} {
		values.Del(own)
	}
	plain.RawQuery = values.Encode()
	options, err := rueidis.ParseURL(plain.String())
	if err != nil {
		return errors.New("the store's URL can't be read")
	}
	options.DisableCache = true
	client, err := rueidis.NewClient(options)
	if err != nil {
		return err
	}
	defer client.Close()
	for _, server := range client.Nodes() {
		if err := do(server); err != nil {
			return err
		}
	}
	return nil
}
