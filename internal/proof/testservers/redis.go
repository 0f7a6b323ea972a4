package testservers

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Redis returns the URL of a new, empty Redis server that keeps nothing on disk.
// It takes a few hundredths of a second to start, so each test has its own.
func Redis(t testing.TB) string {
	t.Helper()
	return NewRedis(t).URL()
}

// RedisServer is a Redis server that one test has for itself.
type RedisServer struct {
	program  string
	folder   string
	port     int
	settings []string
	process  *process // nil while it is stopped
}

// NewRedis starts a server for one test, and removes it at the end. Settings
// are as on the command line of redis-server: "--appendonly", "yes". Without
// any it keeps nothing on disk.
func NewRedis(t testing.TB, settings ...string) *RedisServer {
	t.Helper()
	program, err := exec.LookPath("redis-server")
	if err != nil {
		missing(t, "Redis", "redis-server")
	}
	server, err := startRedis(program, settings)
	if err != nil {
		t.Fatalf("start Redis: %v", err)
	}
	t.Cleanup(func() {
		if err := server.remove(); err != nil {
			t.Errorf("stop Redis: %v", err)
		}
	})
	return server
}

// NewRedisCluster starts servers that share the hash slots of a cluster. Each
// of them leads to all.
func NewRedisCluster(t testing.TB, size int) []*RedisServer {
	t.Helper()
	const slots = 16384
	servers := make([]*RedisServer, size)
	buses := make([]int, size)
	for i := range servers {
		var err error
		if buses[i], err = freePort(); err != nil {
			t.Fatal(err)
		}
		servers[i] = NewRedis(t, "--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(buses[i]))
		servers[i].mustCommand(t, fmt.Sprintf("CLUSTER SET-CONFIG-EPOCH %d", i+1))
		servers[i].mustCommand(t, fmt.Sprintf("CLUSTER ADDSLOTSRANGE %d %d", i*slots/size, (i+1)*slots/size-1))
	}
	for i := range servers[1:] {
		servers[0].mustCommand(t, fmt.Sprintf("CLUSTER MEET 127.0.0.1 %d %d", servers[i+1].port, buses[i+1]))
	}
	for _, server := range servers {
		if err := server.process.await(server.knowsAllSlots); err != nil {
			t.Fatalf("start a cluster: %v", err)
		}
	}
	return servers
}

// knowsAllSlots is an error as long as the server knows of slots that nobody
// has. Afterwards it answers, or says who does.
func (s *RedisServer) knowsAllSlots() error {
	_, err := s.Command("GET any")
	if err != nil && strings.Contains(err.Error(), "MOVED") {
		return nil
	}
	return err
}

func (s *RedisServer) mustCommand(t testing.TB, line string) {
	t.Helper()
	if _, err := s.Command(line); err != nil {
		t.Fatal(err)
	}
}

func startRedis(program string, settings []string) (*RedisServer, error) {
	folder, err := (*account)(nil).folder("redis")
	if err != nil {
		return nil, err
	}
	s := &RedisServer{program: program, folder: folder, settings: settings}
	if s.port, err = freePort(); err != nil {
		return nil, errors.Join(err, s.remove())
	}
	if err := s.run(); err != nil {
		return nil, errors.Join(err, s.remove())
	}
	return s, nil
}

// run starts the server and waits until it answers.
func (s *RedisServer) run() error {
	started, err := begin(nil, s.file("log"), s.program, append([]string{
		"--port", strconv.Itoa(s.port), "--bind", "127.0.0.1", "--dir", s.folder, "--pidfile", s.file("pid"),
		"--daemonize", "no", "--save", "", "--appendonly", "no",
	}, s.settings...)...)
	if err != nil {
		return err
	}
	s.process = started
	err = started.await(func() error {
		_, err := s.Command("PING") // LOADING at first
		return err
	})
	if err != nil {
		log, _ := os.ReadFile(s.file("log"))
		return fmt.Errorf("%w\n%s", err, log)
	}
	return nil
}

func (s *RedisServer) file(name string) string { return filepath.Join(s.folder, name) }

// Address is where the server listens.
func (s *RedisServer) Address() string { return "127.0.0.1:" + strconv.Itoa(s.port) }

// URL is the address of the server as a store's URL.
func (s *RedisServer) URL() string { return "redis://" + s.Address() }

// Command sends a line and returns the first line of the answer, or what the
// server refused it with.
func (s *RedisServer) Command(line string) (answer string, err error) {
	connection, err := net.DialTimeout("tcp", s.Address(), ready)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, connection.Close()) }()
	if err := connection.SetDeadline(time.Now().Add(ready)); err != nil {
		return "", err
	}
	if _, err := fmt.Fprintf(connection, "%s\r\n", line); err != nil {
		return "", err
	}
	answer, err = bufio.NewReader(connection).ReadString('\n')
	if err != nil {
		return "", err
	}
	if refused, found := strings.CutPrefix(answer, "-"); found {
		return "", fmt.Errorf("%s: %s", line, strings.TrimSpace(refused))
	}
	return strings.TrimSpace(answer), nil
}

// Kill ends the server with SIGKILL, as a crash would, and waits.
func (s *RedisServer) Kill(t testing.TB) {
	t.Helper()
	text, err := os.ReadFile(s.file("pid"))
	if err != nil {
		t.Fatalf("kill Redis: %v", err)
	}
	id, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatalf("kill Redis: %v", err)
	}
	if err := syscall.Kill(id, syscall.SIGKILL); err != nil {
		t.Fatalf("kill Redis: %v", err)
	}
	// Who waits for the process closes its standard input too.
	if err := s.end(); err != nil && !errors.Is(err, os.ErrClosed) {
		t.Fatalf("kill Redis: %v", err)
	}
}

// Stop ends the server as its administrator would, and waits.
func (s *RedisServer) Stop(t testing.TB) {
	t.Helper()
	if err := s.end(); err != nil {
		t.Fatalf("stop Redis: %v", err)
	}
}

// Start starts it again, on the same data and port.
func (s *RedisServer) Start(t testing.TB) {
	t.Helper()
	if err := s.run(); err != nil {
		t.Fatalf("start Redis: %v", err)
	}
}

func (s *RedisServer) end() error {
	if s.process == nil {
		return nil
	}
	err := s.process.end()
	s.process = nil
	return err
}

func (s *RedisServer) remove() error { return errors.Join(s.end(), os.RemoveAll(s.folder)) }
