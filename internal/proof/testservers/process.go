package testservers

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// ready bounds how long a server may take to start or to stop.
const ready = 60 * time.Second

// missing ends a test that needs a server which is not installed.
func missing(t testing.TB, name, packages string) {
	t.Helper()
	text := fmt.Sprintf("%s is not installed (Debian: apt-get install %s)", name, packages)
	if os.Getenv("CI") == "true" {
		t.Fatal(text)
	}
	t.Skip(text)
}

// process is a server that runs in the foreground.
type process struct {
	command *exec.Cmd
	leash   io.Closer
	output  *os.File
	ended   chan struct{}
}

// onLeash runs a server until its standard input ends, which it does when the
// test binary dies in whatever way; then it stops the server by its process id.
// It insists: Redis does not end while it writes its first append-only file.
const onLeash = `exec 3<&0
"$@" </dev/null 3<&- &
server=$!
(cat <&3 >/dev/null; while kill -INT $server 2>/dev/null; do sleep 1; done) &
leash=$!
wait $server
kill $leash`

// begin starts a server as a user, with its output in a file.
func begin(account *account, logFile, program string, arguments ...string) (*process, error) {
	output, err := os.OpenFile(logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	command := exec.Command("sh", append([]string{"-c", onLeash, "sh", program}, arguments...)...)
	command.Dir = filepath.Dir(logFile)
	command.Stdout, command.Stderr = output, output
	command.SysProcAttr = account.attributes()
	leash, err := command.StdinPipe()
	if err != nil {
		return nil, errors.Join(err, output.Close())
	}
	if err := command.Start(); err != nil {
		return nil, errors.Join(err, output.Close())
	}
	p := &process{command: command, leash: leash, output: output, ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		_ = command.Wait() // a server that was stopped says so with its exit status
	}()
	return p, nil
}

// end stops the server and waits for it.
func (p *process) end() error {
	err := p.leash.Close()
	select {
	case <-p.ended:
	case <-time.After(ready):
		err = fmt.Errorf("the server (process %d) does not end", p.command.Process.Pid)
	}
	return errors.Join(err, p.output.Close())
}

// await polls until try succeeds, the server ends, or it takes too long.
func (p *process) await(try func() error) error {
	deadline := time.Now().Add(ready)
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-p.ended:
			return fmt.Errorf("the server ended at once: %w", err)
		default:
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the server is not ready after %v: %w", ready, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// freePort returns a port of the loopback interface that nobody uses now.
func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	port := listener.Addr().(*net.TCPAddr).Port
	return port, listener.Close()
}

// account is whom a server runs as; nil is the user of the test.
type account struct{ user, group uint32 }

// unprivileged finds a user for servers that refuse to run as root.
func unprivileged(names ...string) (*account, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	for _, name := range names {
		found, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.ParseUint(found.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(found.Gid, 10, 32)
		if err := errors.Join(uidErr, gidErr); err != nil {
			return nil, err
		}
		return &account{user: uint32(uid), group: uint32(gid)}, nil
	}
	return nil, fmt.Errorf("none of the users %q exists, and the server refuses to run as root", names)
}

func (a *account) attributes() *syscall.SysProcAttr {
	if a == nil {
		return nil
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: a.user, Gid: a.group}}
}

// folder makes a temporary folder that belongs to the account.
func (a *account) folder(name string) (string, error) {
	path, err := os.MkdirTemp("", "onereply-"+name+"-")
	if err != nil || a == nil {
		return path, err
	}
	return path, os.Chown(path, int(a.user), int(a.group))
}

// running is set by Main: without it nobody would stop the shared servers.
var running atomic.Bool

// Main runs the tests of a package, stops the shared servers, and exits.
func Main(m *testing.M) {
	running.Store(true)
	code := m.Run()
	if err := stopShared(); err != nil {
		fmt.Fprintln(os.Stderr, "servers:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}
