package main

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/responder/echo"
	"github.com/onereply/onereply/server"
)

// demoBot is the name of the demo's bot.
const demoBot = "demo"

// demo is the demo's responder and its settings, which the page can change while it runs.
// The echo responder alone would not do: its delay is fixed. The methods are called by
// many requests at once, so the delay is atomic. app is set once, before the first
// request.
type demo struct {
	delay atomic.Int64 // time.Duration
	app   *onereply.App
}

// Respond is the echo responder, as slow as the delay is when it begins. A change
// applies from the next attempt on.
func (d *demo) Respond(ctx context.Context, t *onereply.Turn) (onereply.Reply, error) {
	return echo.Responder{Delay: orZero(time.Duration(d.delay.Load()))}.Respond(ctx, t)
}

// Settings are the bot's own, and the delay of this responder. The bot's are read from
// the engine, which applies them, and are not kept here a second time.
func (d *demo) Settings(ctx context.Context) (server.DemoSettings, error) {
	policy, err := d.app.Policy(ctx, demoBot)
	return server.DemoSettings{Debounce: policy.Debounce, MaxWait: policy.MaxWait, ModelDelay: time.Duration(d.delay.Load())}, err
}

// Change sets the delay only once the bot took the rest, so that a refused change leaves
// everything as it was. The change lasts until the demo ends.
func (d *demo) Change(ctx context.Context, s server.DemoSettings) error {
	err := d.app.SetPolicy(ctx, demoBot, onereply.Policy{Debounce: s.Debounce, MaxWait: s.MaxWait})
	if err == nil {
		d.delay.Store(int64(s.ModelDelay))
	}
	return err
}
