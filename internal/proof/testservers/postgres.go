package testservers

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Postgres returns the URL of a new, empty database on the PostgreSQL server that
// all tests of this binary share.
func Postgres(t testing.TB) string {
	t.Helper()
	return PostgresDatabase(t, "")
}

// PostgresDatabase is Postgres with what follows CREATE DATABASE name, such as
// an encoding.
func PostgresDatabase(t testing.TB, settings string) string {
	t.Helper()
	if !running.Load() {
		t.Fatal("call servers.Main in TestMain: otherwise nobody stops the server")
	}
	programs := findPostgres(t)
	shared.start.Do(func() { shared.server, shared.err = startPostgres(programs) })
	if shared.err != nil {
		t.Fatalf("start PostgreSQL: %v", shared.err)
	}
	return shared.server.database(t, settings)
}

// shared is the server that all tests use.
var shared struct {
	start  sync.Once
	server *PostgresServer
	err    error
}

func stopShared() error {
	if shared.server == nil {
		return nil
	}
	return shared.server.remove()
}

// PostgresServer is a PostgreSQL server that one test has for itself.
type PostgresServer struct {
	programs string // the folder of its programs
	folder   string
	port     int
	account  *account
	process  *process // nil while it is stopped
	last     atomic.Int64
}

// NewPostgres starts a server for one test, with fsync on, and removes it at
// the end.
func NewPostgres(t testing.TB) *PostgresServer {
	t.Helper()
	server, err := startPostgres(findPostgres(t))
	if err != nil {
		t.Fatalf("start PostgreSQL: %v", err)
	}
	t.Cleanup(func() {
		if err := server.remove(); err != nil {
			t.Errorf("stop PostgreSQL: %v", err)
		}
	})
	return server
}

// findPostgres returns the folder of the newest PostgreSQL's programs.
func findPostgres(t testing.TB) string {
	t.Helper()
	var found []string
	if path, err := exec.LookPath("initdb"); err == nil {
		found = append(found, filepath.Dir(path))
	}
	installed, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(installed, func(a, b string) int { return version(a) - version(b) })
	if found = append(installed, found...); len(found) == 0 {
		missing(t, "PostgreSQL", "postgresql")
	}
	return found[len(found)-1]
}

// version reads the 15 of /usr/lib/postgresql/15/bin; 0 if there is none.
func version(programs string) int {
	number, _ := strconv.Atoi(filepath.Base(filepath.Dir(programs)))
	return number
}

func startPostgres(programs string) (*PostgresServer, error) {
	account, err := unprivileged("postgres", "nobody")
	if err != nil {
		return nil, err
	}
	folder, err := account.folder("postgres")
	if err != nil {
		return nil, err
	}
	s := &PostgresServer{programs: programs, folder: folder, account: account}
	if s.port, err = freePort(); err != nil {
		return nil, errors.Join(err, s.remove())
	}
	if err := s.initialize(); err != nil {
		return nil, errors.Join(err, s.remove())
	}
	if err := s.run(); err != nil {
		return nil, errors.Join(err, s.remove())
	}
	return s, nil
}

// initialize makes the files of the server.
func (s *PostgresServer) initialize() error {
	command := exec.Command(filepath.Join(s.programs, "initdb"), "--pgdata", s.data(), "--no-sync",
		"--username", "onereply", "--auth", "trust", "--encoding", "UTF8", "--locale", "C")
	command.Dir, command.SysProcAttr = s.folder, s.account.attributes()
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, output)
	}
	return nil
}

func (s *PostgresServer) data() string { return filepath.Join(s.folder, "data") }

// run starts the server and waits until it answers.
func (s *PostgresServer) run() error {
	started, err := begin(s.account, filepath.Join(s.folder, "log"), filepath.Join(s.programs, "postgres"),
		"-D", s.data(), "-p", strconv.Itoa(s.port), "-k", s.folder,
		"-c", "listen_addresses=127.0.0.1", "-c", "max_connections=200", "-c", "fsync=on")
	if err != nil {
		return err
	}
	s.process = started
	if err := started.await(func() error { return s.execute("SELECT 1") }); err != nil {
		log, _ := os.ReadFile(filepath.Join(s.folder, "log"))
		return fmt.Errorf("%w\n%s", err, log)
	}
	return nil
}

// URL makes an empty database and returns its URL.
func (s *PostgresServer) URL(t testing.TB) string {
	t.Helper()
	return s.database(t, "")
}

func (s *PostgresServer) database(t testing.TB, settings string) string {
	t.Helper()
	name := fmt.Sprintf("test%d", s.last.Add(1))
	if err := s.execute("CREATE DATABASE " + name + " " + settings); err != nil {
		t.Fatalf("make a database: %v", err)
	}
	return s.url(name)
}

// Port is where the server listens, on 127.0.0.1.
func (s *PostgresServer) Port() int { return s.port }

// Kill ends the server at once, without a word to its clients or its disk, as a
// crash would, and waits. Start recovers it.
func (s *PostgresServer) Kill(t testing.TB) {
	t.Helper()
	if err := errors.Join(s.abort(), s.end()); err != nil {
		t.Fatalf("kill PostgreSQL: %v", err)
	}
}

// Stop ends the server as its administrator would, and waits: running sessions
// are cut off.
func (s *PostgresServer) Stop(t testing.TB) {
	t.Helper()
	if err := s.end(); err != nil {
		t.Fatalf("stop PostgreSQL: %v", err)
	}
}

// Start starts it again, on the same files and port.
func (s *PostgresServer) Start(t testing.TB) {
	t.Helper()
	if err := s.run(); err != nil {
		t.Fatalf("start PostgreSQL: %v", err)
	}
}

func (s *PostgresServer) end() error {
	if s.process == nil {
		return nil
	}
	err := s.process.end()
	s.process = nil
	return err
}

// abort makes all processes of the server end where they stand. The first line of
// its file is the id of the first of them, which ends the others.
func (s *PostgresServer) abort() error {
	text, err := os.ReadFile(filepath.Join(s.data(), "postmaster.pid"))
	if err != nil {
		return err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	id, err := strconv.Atoi(line)
	if err != nil {
		return err
	}
	return syscall.Kill(id, syscall.SIGQUIT)
}

// remove does not wait for files to be written that are about to go.
func (s *PostgresServer) remove() error {
	if s.process != nil {
		if err := s.abort(); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return errors.Join(s.end(), os.RemoveAll(s.folder))
}

func (s *PostgresServer) url(database string) string {
	return (&url.URL{
		Scheme: "postgres", User: url.User("onereply"), Host: "127.0.0.1:" + strconv.Itoa(s.port),
		Path: "/" + database, RawQuery: "sslmode=disable",
	}).String()
}

// execute runs a statement in the database that always exists.
func (s *PostgresServer) execute(statement string) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), ready)
	defer cancel()
	db, err := pgx.Connect(ctx, s.url("postgres"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close(ctx)) }()
	_, err = db.Exec(ctx, strings.TrimSpace(statement))
	return err
}

// PostgresValue is the one value that a query gives, as text.
func PostgresValue(t testing.TB, url, query string) (value string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), ready)
	defer cancel()
	db, err := pgx.Connect(ctx, url)
	if err == nil {
		err = errors.Join(db.QueryRow(ctx, query).Scan(&value), db.Close(ctx))
	}
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return value
}
