package bench

import (
	"context"
	"errors"
	"fmt"
)

// mostNodes share the store.
const mostNodes = 3

// severalNodes measures what a second and a third node add. A conversation's
// messages come to one node, as behind a load balancer that is sticky, or to any:
// then a node's memory of the record is mostly old, and its write meets a
// conflict.
func severalNodes(ctx context.Context, b *bench, t *tally) error {
	alone := pace{}
	for count := 1; count <= mostNodes; count++ {
		for _, anywhere := range []bool{false, true} {
			if count == 1 && anywhere {
				continue
			}
			found, shared, err := b.sharedBy(ctx, count, anywhere)
			if err != nil {
				return err
			}
			if !shared {
				t.note = "not measured with several nodes: this store is for one process"
			}
			if count == 1 {
				alone = found
			}
			group := counted(count, "node")
			if anywhere {
				group += ", messages to any"
			}
			t.compare(group, "acknowledged", "/s", found.rate, alone.rate)
			took, limit := found.took.milliseconds(0.5, 0.99), alone.took.milliseconds(0.5, 0.99)
			t.compare(group, "p50", "ms", took[0], limit[0])
			t.compare(group, "p99", "ms", took[1], limit[1])
			if !shared {
				return nil
			}
		}
	}
	return nil
}

// sharedBy has nodes take messages on one store.
func (b *bench) sharedBy(ctx context.Context, count int, anywhere bool) (found pace, shared bool, err error) {
	const writers = 64
	first, err := b.activeNode(ctx)
	if err != nil {
		return found, false, err
	}
	nodes := []*node{first}
	defer func() {
		for _, n := range nodes {
			err = errors.Join(err, n.close())
		}
	}()
	shared = !first.store.Guarantees().Exclusive
	for shared && len(nodes) < count {
		n, err := b.openNode(ctx, first.folder, listening(), nil)
		if err != nil {
			return found, shared, err
		}
		nodes = append(nodes, n)
	}
	found, err = b.pace(writers, func(writer, i int) error {
		n := nodes[nodeOf(writers, writer, i, len(nodes), anywhere)]
		return n.receive(ctx, conversationOf(writers, writer, i), fmt.Sprintf("m-%d-%d", writer, i))
	})
	return found, shared, err
}

// nodeOf is which node gets a message: the one of its conversation, or another one
// each time the conversation's turn comes.
func nodeOf(writers, writer, i, nodes int, anywhere bool) int {
	node := placeOf(writers, writer, i)
	if anywhere {
		node += (i*writers + writer) / active // how often its turn came before
	}
	return node % nodes
}
