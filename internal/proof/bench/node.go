package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/internal/gomaxprocs"
	"github.com/onereply/onereply/store"
)

// botName is the one bot of all loads.
const botName = "bench"

// opened counts the nodes of this process: each has a name of its own.
var opened atomic.Int64

// node is an App on a store.
type node struct {
	*onereply.App
	store  store.Store
	folder string
	leave  func()
}

// openNode opens a node on the store of a folder. wrap, where it is not nil,
// stands between the two.
func (b *bench) openNode(ctx context.Context, folder string, bot onereply.Bot, wrap func(store.Store) store.Store) (*node, error) {
	kept, err := b.Place.Open(ctx, folder)
	if err != nil {
		return nil, err
	}
	if wrap != nil {
		kept = wrap(kept)
	}
	bot.Name = botName
	name := fmt.Sprintf("bench-%d-%d", os.Getpid(), opened.Add(1))
	app, err := onereply.Open(ctx, kept, onereply.Options{Node: name, Logger: slog.New(slog.DiscardHandler)}, bot)
	if err != nil {
		return nil, errors.Join(err, kept.Close())
	}
	n := &node{App: app, store: kept, folder: folder, leave: func() {}}
	if kept.Guarantees().Exclusive {
		n.leave = gomaxprocs.OneMore() // as the command does
	}
	return n, nil
}

func (n *node) close() error {
	defer n.leave()
	return errors.Join(n.App.Close(), n.store.Close())
}

// newNode is openNode in a folder of its own.
func (b *bench) newNode(ctx context.Context, bot onereply.Bot, wrap func(store.Store) store.Store) (*node, error) {
	folder, err := b.newFolder()
	if err != nil {
		return nil, err
	}
	return b.openNode(ctx, folder, bot, wrap)
}

// listening is a bot that accepts and does not answer for as long as anything
// is measured.
func listening() onereply.Bot {
	return onereply.Bot{
		Responder: onereply.ResponderFunc(func(context.Context, *onereply.Turn) (onereply.Reply, error) {
			return onereply.Reply{Silent: true}, nil
		}),
		Debounce: time.Hour, MaxWait: time.Hour,
	}
}

// text is what people write in all loads.
const text = "Hello, where is my order 4711? It should have come on Monday."

// person is who writes in all loads.
func person() onereply.Person { return onereply.Person{ID: "u1", Name: "Ann"} }
