package config

import (
	"errors"
	"regexp"
	"time"

	"github.com/onereply/onereply"
)

// Kinds of channels.
const Telegram = "telegram"

// channelDebounce is the default quiet time of each kind: the pauses within a burst differ
// from platform to platform.
var channelDebounce = map[string]time.Duration{
	Telegram: 3 * time.Second,
}

// channelMaxWait is the default hard cap of every kind.
const channelMaxWait = 15 * time.Second

// channels reads the chat platforms on which the bot answers. Two entries of a kind need
// names, since their conversations would be the same otherwise.
func (r *reader) channels(bot *section, b *Bot) {
	first := map[string]place{}
	for _, v := range bot.list("channels", "a list of channels, such as [{kind: telegram, token: …}]") {
		s, ok := r.section(v)
		if !ok {
			continue
		}
		c, ok := r.channel(s)
		if !ok {
			continue
		}
		if before, again := first[c.Account()]; again {
			r.report(v.place, "is the second channel %q, the first one is in line %d; give one of them a name of its own", c.Account(), before.token.Position.Line)
			continue
		}
		first[c.Account()] = v.place
		b.Channels = append(b.Channels, c)
	}
}

// channel reads one entry. Without a known kind nothing else of it can be judged.
func (r *reader) channel(s *section) (c Channel, ok bool) {
	if !s.oneOf("kind", &c.Kind, Telegram) {
		s.missing("kind", "it must be %s", alternatives([]string{Telegram}))
		return c, false
	}
	c.Debounce, c.MaxWait, c.TakeoverFor = channelDebounce[c.Kind], channelMaxWait, time.Hour
	s.checked("name", &c.Name, channelName)
	s.checked("api_base", &c.APIBase, baseURL)
	s.duration("debounce", &c.Debounce, 0)
	s.duration("max_wait", &c.MaxWait, 0)
	if c.MaxWait < c.Debounce {
		key := "debounce"
		if s.has("max_wait") {
			key = "max_wait"
		}
		r.report(s.at(key), "max_wait (%s) must not be less than debounce (%s)", span(c.MaxWait), span(c.Debounce))
	}
	if s.duration("takeover_for", &c.TakeoverFor, 0) && c.TakeoverFor > onereply.MaxPauseFor {
		r.report(s.at("takeover_for"), "must be at most %s, it is %s", span(onereply.MaxPauseFor), span(c.TakeoverFor))
	}
	r.telegram(s, &c)
	s.close()
	return c, true
}

// telegram reads the keys of kind telegram. A bot is polled, unless the file says that
// Telegram posts to this node; the secret then shows that a request is Telegram's.
func (r *reader) telegram(s *section, c *Channel) {
	const polling, webhook = "polling", "webhook"
	mode := polling
	s.checked("token", &c.Token, telegramToken)
	s.missing("token", "BotFather gives it")
	s.oneOf("mode", &mode, polling, webhook)
	if mode == webhook {
		s.checked("secret", &c.Secret, telegramSecret)
		s.missing("secret", "make one with: openssl rand -hex 32")
		return
	}
	if v, ok := s.take("secret"); ok {
		r.report(v.place, "has no effect while the bot is polled; set mode: webhook, or remove the secret")
	}
}

var (
	channelNameForm    = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)
	telegramTokenForm  = regexp.MustCompile(`^[0-9]{1,18}:[A-Za-z0-9_-]{1,200}$`)
	telegramSecretForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,256}$`)
)

// channelName refuses a name that would have to be escaped in a path.
func channelName(text string) error {
	if !channelNameForm.MatchString(text) {
		return errors.New("must have 1 to 64 characters of a-z, 0-9, _ and -, and begin with a letter or a digit")
	}
	return nil
}

// telegramToken refuses a text that is no token. Its error does not show the text.
func telegramToken(text string) error {
	if !telegramTokenForm.MatchString(text) {
		return errors.New("must be a bot's token as BotFather gives it, such as 123456:ABC-DEF")
	}
	return nil
}

// telegramSecret refuses a text that Telegram does not take as a webhook's secret.
func telegramSecret(text string) error {
	if !telegramSecretForm.MatchString(text) {
		return errors.New("must have 1 to 256 characters of A-Z, a-z, 0-9, _ and -; make one with: openssl rand -hex 32")
	}
	return nil
}
