package node

import (
	"context"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Signal shows people that a reply is on its way. Nothing depends on it.
type Signal struct {
	Key  store.Key
	Kind string
	Turn int64
	Sign turn.Sign // of a notice, with its Text
	Text string

	// Conversation is the key by which it is shown, Address the name under which it was
	// last written to.
	Conversation, Address string

	// Message is the ID of the newest message that is being answered; "" for a notice.
	Message string
}

const (
	// typingEvery is how often people are shown that a turn is being written. Channels
	// show each signal for five seconds or a little longer.
	typingEvery = 4 * time.Second
	// signalTimeout bounds one signal.
	signalTimeout = 5 * time.Second
)

// showTyping shows people that a turn is being written, until the returned function is
// called. It runs beside the attempt, which never waits for it. While the receiver has
// asked for a pause nothing is shown.
func (n *Node) showTyping(ctx context.Context, o engine.Start) (stop func()) {
	bot := n.bot(o.Key.Bot)
	ctx, cancel := context.WithCancel(ctx)
	if !bot.Typing || bot.Signal == nil {
		return cancel
	}
	s := Signal{Key: o.Key, Kind: "typing", Turn: o.Turn, Conversation: o.Conversation, Address: o.Address}
	if last := len(o.Prompt.Messages) - 1; last >= 0 {
		s.Message = o.Prompt.Messages[last].ID
	}
	n.goroutines.Go(func() {
		ticker := time.NewTicker(typingEvery)
		defer ticker.Stop()
		for {
			if n.clock.Now() >= o.NoSignalUntil {
				n.signal(ctx, s)
			}
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
		}
	})
	return cancel
}

// show gives people a notice. Nobody waits for it.
func (n *Node) show(o engine.Show) {
	if n.bot(o.Key.Bot).Signal == nil {
		return
	}
	n.goroutines.Go(func() {
		n.signal(n.ctx, Signal{Key: o.Key, Kind: "notice", Turn: o.Turn, Conversation: o.Conversation, Address: o.Address, Sign: o.Sign, Text: o.Text})
	})
}

// signal gives one signal. An error of it is no more than a line in the log.
func (n *Node) signal(ctx context.Context, s Signal) {
	ctx, cancel := context.WithTimeout(ctx, signalTimeout)
	defer cancel()
	log := n.logOf(s.Key).With("turn", s.Turn, "signal", s.Kind)
	give := n.bot(s.Key.Bot).Signal
	if give == nil {
		return // since a moment ago
	}
	failed, err := call(ctx, n, log, "sender", func() error { return give(ctx, s) })
	if err == nil {
		err = failed
	}
	if err != nil && ctx.Err() == nil {
		log.Debug("a signal was not given", "err", err)
	}
}
