package onereply

import (
	"context"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/internal/node"
	"github.com/onereply/onereply/store"
)

// StoreOf is the store that a node was opened on.
func StoreOf(a *App) store.Store { return a.store }

// OpenBroken opens a node with another core, so that tests can show that they
// would notice.
func OpenBroken(ctx context.Context, s store.Store, o Options, step engine.Step, bots ...Bot) (*App, error) {
	return open(ctx, s, o, step, bots)
}

// NodeBot is what the runtime is given of a bot, on a node with these limits.
func NodeBot(b Bot, limits Limits) (node.Bot, error) {
	full, err := b.withDefaults()
	if err != nil {
		return node.Bot{}, err
	}
	return (&App{options: Options{Limits: limits}}).nodeBots(map[string]Bot{b.Name: full})[b.Name], nil
}

// WithDefaults is a bot with what it does not set filled in.
func WithDefaults(b Bot) (Bot, error) { return b.withDefaults() }
