package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/channel"
	"github.com/onereply/onereply/server/config"
)

// channelCommand is about the chat platforms of a configuration.
type channelCommand struct {
	Check   channelCheckCommand   `cmd:"" help:"Say of each channel of a bot what is missing, and how to get it."`
	Connect channelConnectCommand `cmd:"" help:"Have a platform post to this configuration's public address."`
}

// platformTimeout bounds the calls of one platform.
const platformTimeout = 30 * time.Second

// channelCheckCommand asks the platform of each channel how the account stands there, and a
// running node what it heard of the platform. It changes nothing.
type channelCheckCommand struct {
	Bot    string `arg:"" help:"The bot's name."`
	Config string `default:"onereply.yaml" placeholder:"FILE" help:"The configuration (default: ${default})."`
	remote
}

// channelReport is what is known of one channel. As JSON it is an element of a list.
type channelReport struct {
	Channel string `json:"channel"`
	Account string `json:"account"` // its name on the platform; "": the platform did not say
	Webhook string `json:"webhook"` // where the platform posts; "": to nobody
	Address string `json:"address"` // where it has to post, if this channel is not polled; "": public_url is not set
	Waiting int    `json:"waiting"`

	// Node is what a running node says; nil: none answers.
	Node *onereply.ChannelStatus `json:"node"`

	Problems []string `json:"problems"` // each says what is wrong and how to mend it; never nil
}

// run prints what it finds. It makes the exit code 1 if anything is wrong.
func (c *channelCheckCommand) run(ctx context.Context, p *program) error {
	found, bot, err := configuredBot(c.Config, p, c.Bot)
	if err != nil {
		return err
	}
	if len(bot.Channels) == 0 {
		return fmt.Errorf("bot %q has no channels; add one, such as: channels: [{kind: telegram, token: \"${TELEGRAM_TOKEN}\"}]", c.Bot)
	}
	node, err := c.client(p)
	if err != nil {
		return err
	}
	heard, _ := node.Channels(ctx, c.Bot) // no node need run
	var reports []channelReport
	wrong := false
	for _, entry := range bot.Channels {
		report := lookAt(ctx, found, c.Bot, entry)
		for _, status := range heard.Value.Channels {
			if status.Channel == report.Channel {
				report.hear(status)
			}
		}
		wrong = wrong || len(report.Problems) > 0
		reports = append(reports, report)
	}
	if c.JSON {
		err = p.printJSON(reports)
	} else {
		for _, report := range reports {
			report.print(p)
		}
	}
	if err == nil && wrong {
		return errReported
	}
	return err
}

// configuredBot reads a configuration, and finds a bot of it.
func configuredBot(file string, p *program, name string) (config.Config, config.Bot, error) {
	found, err := readConfig(file, p.env, config.Overrides{})
	if err != nil {
		return found, config.Bot{}, err
	}
	i := slices.IndexFunc(found.Bots, func(b config.Bot) bool { return b.Settings.Name == name })
	if i < 0 {
		return found, config.Bot{}, usageError{fmt.Errorf("%s has no bot %q", file, name)}
	}
	return found, found.Bots[i], nil
}

// lookAt asks the platform of a channel.
func lookAt(ctx context.Context, c config.Config, bot string, entry config.Channel) channelReport {
	out := channelReport{Channel: entry.Account(), Problems: []string{}}
	adapter, err := newChannel(entry)
	if err != nil {
		out.Problems = append(out.Problems, err.Error())
		return out
	}
	platform, ok := adapter.(channel.Connector)
	if !ok {
		return out
	}
	ctx, cancel := context.WithTimeout(ctx, platformTimeout)
	defer cancel()
	now, err := platform.Look(ctx)
	if err != nil {
		out.Problems = append(out.Problems, fmt.Sprintf("the platform does not take the account: %v; see docs/channels/%s.md for how to get its keys", err, entry.Kind))
		return out
	}
	out.Account, out.Webhook, out.Waiting = now.Name, now.Address, now.Waiting
	connect := fmt.Sprintf("run: onereply channel connect %s %s", entry.Kind, bot)
	if entry.Name != "" {
		connect += " --name " + entry.Name
	}
	switch {
	case !now.Posts && now.Address != "":
		out.problem("the platform posts to %s, and this channel is polled: a node that polls ends that, or %s --remove", now.Address, connect)
	case !now.Posts:
	case c.PublicURL == "":
		out.problem("public_url is not set: the platform has to know by which address it reaches this node")
	default:
		out.Address = addressOf(c, bot, entry)
		if now.Address == "" {
			out.problem("the platform posts to nobody; %s", connect)
		} else if now.Address != out.Address {
			out.problem("the platform posts to %s, not to %s; %s", now.Address, out.Address, connect)
		}
	}
	if now.Problem != "" {
		out.problem("the platform says of its last try: %s", now.Problem)
	}
	return out
}

// addressOf is where the platform of a channel has to post.
func addressOf(c config.Config, bot string, entry config.Channel) string {
	return strings.TrimRight(c.PublicURL, "/") + channel.Path(bot, entry.Account())
}

func (r *channelReport) problem(format string, arguments ...any) {
	r.Problems = append(r.Problems, fmt.Sprintf(format, arguments...))
}

// hear adds what a node heard of the platform.
func (r *channelReport) hear(status onereply.ChannelStatus) {
	r.Node = &status
	if status.Forged > 0 {
		r.problem("the node refused %s whose signature did not match: is its secret the one that the platform has? Connecting again sets it", count(int(status.Forged), "request"))
	}
	if status.Refused > 0 {
		r.problem("the node refused %s for good, which nobody answers; the last failure was: %s", count(int(status.Refused), "event"), status.LastError)
	}
}

// print is the report for people.
func (r *channelReport) print(p *program) {
	fmt.Fprintf(p.stdout, "%s\n", r.Channel)
	tell := func(what, text string) { fmt.Fprintf(p.stdout, "  %-10s %s\n", what, line(text)) }
	if r.Account != "" {
		tell("account", r.Account)
	}
	if r.Address != "" {
		tell("address", r.Address)
	}
	tell("posts to", cmp.Or(r.Webhook, "nobody"))
	if r.Node == nil {
		tell("node", "none answers")
	} else {
		last := "never"
		if !r.Node.VerifiedAt.IsZero() {
			last = r.Node.VerifiedAt.UTC().Format(time.RFC3339)
		}
		tell("node", fmt.Sprintf("heard of the platform last: %s; %s since its start, polling: %v", last, count(int(r.Node.Messages), "message"), r.Node.Polling))
		if r.Node.LastError != "" {
			tell("last error", r.Node.LastError)
		}
	}
	for _, problem := range r.Problems {
		tell("problem", problem)
	}
	if len(r.Problems) == 0 {
		tell("problem", "none")
	}
}

// channelConnectCommand tells a platform to post to this configuration's public address.
type channelConnectCommand struct {
	Kind   string `arg:"" help:"The kind of the channel, such as telegram."`
	Bot    string `arg:"" help:"The bot's name."`
	Name   string `help:"The name of the channel, where the bot has two of the kind."`
	Config string `default:"onereply.yaml" placeholder:"FILE" help:"The configuration (default: ${default})."`
	Remove bool   `help:"Have the platform post to nobody, so that a node can poll."`
}

// run makes the call, and says what holds now.
func (c *channelConnectCommand) run(ctx context.Context, p *program) error {
	found, bot, err := configuredBot(c.Config, p, c.Bot)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(bot.Channels, func(entry config.Channel) bool { return entry.Kind == c.Kind && entry.Name == c.Name })
	if i < 0 {
		return usageError{fmt.Errorf("bot %q has no channel of kind %q with this name", c.Bot, c.Kind)}
	}
	adapter, err := newChannel(bot.Channels[i])
	if err != nil {
		return err
	}
	platform, ok := adapter.(channel.Connector)
	if !ok {
		return fmt.Errorf("%s has no call for that: paste %s on its page", c.Kind, addressOf(found, c.Bot, bot.Channels[i]))
	}
	address := ""
	if !c.Remove {
		if found.PublicURL == "" {
			return errors.New("public_url is not set: the platform has to know by which address it reaches this node")
		}
		address = addressOf(found, c.Bot, bot.Channels[i])
	}
	ctx, cancel := context.WithTimeout(ctx, platformTimeout)
	defer cancel()
	if err := platform.Connect(ctx, address); err != nil {
		return fmt.Errorf("connect %s: %w", c.Kind, err)
	}
	fmt.Fprintf(p.stdout, "%s posts to %s\n", bot.Channels[i].Account(), cmp.Or(address, "nobody"))
	return nil
}
