package testservers

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// PgBouncer starts a transaction-pooling proxy before a server's database for one
// test, and returns the URL that leads through it. It has fewer connections to
// the server than most tests have to it, so that they share sessions.
func PgBouncer(t testing.TB, postgres string) string {
	t.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		missing(t, "PgBouncer", "pgbouncer")
	}
	address, stop, err := startPgBouncer(program, postgres)
	if err != nil {
		t.Fatalf("start PgBouncer: %v", err)
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Errorf("stop PgBouncer: %v", err)
		}
	})
	return address
}

const pgBouncerSettings = `[databases]
* = host=%s port=%s user=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 3
max_client_conn = 500
`

func startPgBouncer(program, postgres string) (address string, stop func() error, err error) {
	target, err := url.Parse(postgres)
	if err != nil {
		return "", nil, err
	}
	account, err := unprivileged("postgres", "nobody")
	if err != nil {
		return "", nil, err
	}
	folder, err := account.folder("pgbouncer")
	if err != nil {
		return "", nil, err
	}
	remove := func() error { return os.RemoveAll(folder) }
	port, err := freePort()
	if err != nil {
		return "", nil, errors.Join(err, remove())
	}
	file := filepath.Join(folder, "settings.ini")
	text := fmt.Sprintf(pgBouncerSettings, target.Hostname(), target.Port(), target.User.Username(), port)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return "", nil, errors.Join(err, remove())
	}
	started, err := begin(account, filepath.Join(folder, "log"), program, file)
	if err != nil {
		return "", nil, errors.Join(err, remove())
	}
	stop = func() error { return errors.Join(started.end(), remove()) }
	target.Host = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	if err := started.await(func() error { return tryConnection(target.Host) }); err != nil {
		log, _ := os.ReadFile(filepath.Join(folder, "log"))
		return "", nil, errors.Join(fmt.Errorf("%w\n%s", err, log), stop())
	}
	return target.String(), stop, nil
}

func tryConnection(address string) error {
	connection, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	return connection.Close()
}
