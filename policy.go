package onereply

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Policy is the part of a [Bot] that can be changed while it runs. 0 means
// zero here: there are no defaults.
type Policy struct {
	// Debounce is the quiet time after the last input: 0 or more.
	Debounce time.Duration

	// MaxWait is the hard cap on it, from the first waiting input: at least Debounce.
	MaxWait time.Duration
}

// Policy returns how long a bot waits now, on this node.
func (a *App) Policy(ctx context.Context, bot string) (Policy, error) {
	now, err := a.withPolicy(ctx, "policy", bot, func(p turn.Policy) turn.Policy { return p })
	return Policy{Debounce: now.Debounce, MaxWait: now.MaxWait}, err
}

// SetPolicy changes how long a bot of this node waits, until the node ends. A
// window that is open keeps its end until the next input moves it. Other nodes
// keep their own policy, so it is for trying out what a setting does, not for
// running a deployment. An error with CodeInvalid names the field at fault.
func (a *App) SetPolicy(ctx context.Context, bot string, p Policy) error {
	c := call{op: "set policy", key: store.Key{Bot: bot}}
	switch {
	case p.Debounce < 0:
		return c.fail(CodeInvalid, "debounce", errors.New("it must not be negative"))
	case p.MaxWait < p.Debounce:
		return c.fail(CodeInvalid, "max_wait", fmt.Errorf("it must not be less than debounce (%v)", p.Debounce))
	}
	_, err := a.withPolicy(ctx, c.op, bot, func(now turn.Policy) turn.Policy {
		now.Debounce, now.MaxWait = p.Debounce, p.MaxWait
		return now
	})
	return err
}

// withPolicy changes a bot's policy and returns the new one.
func (a *App) withPolicy(ctx context.Context, op, bot string, change func(turn.Policy) turn.Policy) (turn.Policy, error) {
	c := call{op: op, key: store.Key{Bot: bot}}
	if _, ok := a.bot(bot); !ok {
		return turn.Policy{}, c.fail(CodeNotFound, "bot", errors.New("no such bot is configured"))
	}
	now, err := a.node.ChangePolicy(ctx, bot, change)
	return now, c.of(err)
}
