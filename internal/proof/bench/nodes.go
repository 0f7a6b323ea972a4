package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync/atomic"
	"time"

	"github.com/onereply/onereply/server"
	"github.com/onereply/onereply/store"
)

// mostNodes share the store.
const mostNodes = 3

// messagesOfConversation is how many messages each conversation of the load gets.
// Three show the whole cost: the first meets no record, and behind a balancer
// that sends messages anywhere the next ones meet a record of another node.
const messagesOfConversation = 3

// severalNodes measures what a second and a third process add, over HTTP. The
// messages of a conversation come to one node, as behind a load balancer that is
// sticky, or each to the next node. Then the record that a node remembers is old,
// and its write meets a conflict.
func severalNodes(ctx context.Context, b *bench, t *tally) error {
	if b.Node == nil {
		t.note = "not measured: this program can't start itself here"
		return nil
	}
	alone := shared{}
	for count := 1; count <= mostNodes; count++ {
		for _, anywhere := range []bool{false, true} {
			if count == 1 && anywhere {
				continue
			}
			found, exclusive, err := b.sharedBy(ctx, count, anywhere)
			if err != nil {
				return err
			}
			if count == 1 {
				alone = found
			}
			group := counted(count, "node")
			if anywhere {
				group += ", messages to any"
			}
			found.tell(t, group, alone)
			if exclusive {
				t.note = "not measured with several nodes: this store is for one process"
				return nil
			}
		}
	}
	return nil
}

// shared is what a load on several nodes gave.
type shared struct {
	pace
	roundTrips float64       // to the store, of each acknowledgement
	processor  time.Duration // of all nodes, of each acknowledgement
}

func (s shared) tell(t *tally, group string, alone shared) {
	t.compare(group, "acknowledged", "/s", s.rate, alone.rate)
	t.compare(group, "round trips of each", "", s.roundTrips, alone.roundTrips)
	t.compare(group, "processor time of the nodes, of each", "µs", microseconds(s.processor), microseconds(alone.processor))
	took, limit := s.took.milliseconds(0.5, 0.99), alone.took.milliseconds(0.5, 0.99)
	t.compare(group, "p50", "ms", took[0], limit[0])
	t.compare(group, "p99", "ms", took[1], limit[1])
}

func microseconds(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// sharedBy starts node processes on a new store, and has them take messages.
func (b *bench) sharedBy(ctx context.Context, count int, anywhere bool) (found shared, exclusive bool, err error) {
	folder, err := b.newFolder()
	if err != nil {
		return found, false, err
	}
	var nodes []*nodeProcess
	defer func() {
		for _, n := range nodes {
			err = errors.Join(err, n.stop())
		}
	}()
	for range count {
		n, err := startNode(b.Node(ctx, folder))
		if err != nil {
			return found, false, err
		}
		nodes = append(nodes, n)
		exclusive = n.hello.Exclusive
	}
	found, err = b.loadNodes(nodes, anywhere)
	return found, exclusive, err
}

// loadNodes posts messages to the nodes, and asks them what they used for it.
func (b *bench) loadNodes(nodes []*nodeProcess, anywhere bool) (found shared, err error) {
	clients, err := dialAll(nodes)
	defer func() {
		for _, c := range clients {
			_ = c.close() // its answers were read
		}
	}()
	if err != nil {
		return found, err
	}
	before, err := usedBy(nodes)
	if err != nil {
		return found, err
	}
	var posted atomic.Int64
	found.pace, err = b.pace(connections, func(writer, i int) error {
		conversation, n := balanced(writer, i, len(nodes), anywhere)
		posted.Add(1)
		return clients[writer*len(nodes)+n].post(conversation, fmt.Sprintf("m-%d", i))
	})
	if err != nil {
		return found, err
	}
	after, err := usedBy(nodes)
	each := max(1, posted.Load())
	found.roundTrips = float64(after.RoundTrips-before.RoundTrips) / float64(each)
	found.processor = (after.Processor - before.Processor) / time.Duration(each)
	return found, err
}

// dialAll opens a connection from each writer to each node.
func dialAll(nodes []*nodeProcess) ([]poster, error) {
	var clients []poster
	for range connections {
		for _, n := range nodes {
			c, err := dialBare(n.hello.Address)
			if err != nil {
				return clients, err
			}
			clients = append(clients, c)
		}
	}
	return clients, nil
}

// balanced is the conversation and the node of a writer's next message. Each writer
// goes from one new conversation to the next.
func balanced(writer, i, nodes int, anywhere bool) (conversation string, node int) {
	number := (i/messagesOfConversation)*connections + writer
	node = number
	if anywhere {
		node += i % messagesOfConversation
	}
	return fmt.Sprintf("chat-%d", number), node % nodes
}

// nodeProcess is a node in a process of its own.
type nodeProcess struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *json.Decoder
	hello   hello
}

// hello is the first line that a node process prints.
type hello struct {
	Address   string
	Exclusive bool // its store is for one process
}

// used is what a node process has used since it started. It prints it for each
// line that it reads.
type used struct {
	RoundTrips int64
	Processor  time.Duration
}

func startNode(command *exec.Cmd) (*nodeProcess, error) {
	n := &nodeProcess{command: command}
	var err error
	if n.in, err = command.StdinPipe(); err != nil {
		return nil, err
	}
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("start a node: %w", err)
	}
	n.out = json.NewDecoder(output)
	if err := n.out.Decode(&n.hello); err != nil {
		return nil, errors.Join(fmt.Errorf("a node did not start: %w", err), n.stop())
	}
	return n, nil
}

// stop ends the input of the process, which then closes its node and ends.
func (n *nodeProcess) stop() error {
	return errors.Join(n.in.Close(), n.command.Wait())
}

func (n *nodeProcess) used() (u used, err error) {
	if _, err := io.WriteString(n.in, "\n"); err != nil {
		return u, err
	}
	return u, n.out.Decode(&u)
}

func usedBy(nodes []*nodeProcess) (all used, err error) {
	for _, n := range nodes {
		u, err := n.used()
		if err != nil {
			return all, err
		}
		all.RoundTrips += u.RoundTrips
		all.Processor += u.Processor
	}
	return all, nil
}

// Node is one of the processes that share a store: a node that serves the HTTP
// API on a free port. It ends when its input does.
func Node(ctx context.Context, place Place, folder string, in io.Reader, out io.Writer) error {
	b := &bench{Options: Options{Place: place}}
	counter := &counting{}
	n, err := b.openNode(ctx, folder, listening(), counter.around)
	if err != nil {
		return err
	}
	address, stop, err := listen(server.New(n.App, server.Options{LoopbackOnly: true}))
	if err != nil {
		return errors.Join(err, n.close())
	}
	err = answerUsed(in, json.NewEncoder(out), hello{address, counter.Guarantees().Exclusive}, counter)
	return errors.Join(err, stop(), n.close())
}

func answerUsed(in io.Reader, out *json.Encoder, first hello, counter *counting) error {
	if err := out.Encode(first); err != nil {
		return err
	}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		u := used{counter.writes.Load() + counter.reads.Load(), processorTime()}
		if err := out.Encode(u); err != nil {
			return err
		}
	}
	return lines.Err()
}

// around counts the calls of a store that nodes share, and leaves it the powers
// that nodes use to tell each other things.
func (c *counting) around(s store.Store) store.Store {
	c.Store = s
	type powers interface {
		store.Hinter
		store.Broadcaster
		store.Echoer
	}
	if p, ok := s.(powers); ok {
		return struct {
			*counting
			powers
		}{c, p}
	}
	return c
}
