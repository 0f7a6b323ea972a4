package config

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/onereply/onereply"
)

// Kinds of channels.
const (
	Telegram = "telegram"
	WhatsApp = "whatsapp"
	Slack    = "slack"
)

// channelKinds has, for each kind, its default quiet time, since the pauses within a burst
// differ from platform to platform, and the reader of its own keys.
var channelKinds = []struct {
	name     string
	debounce time.Duration
	read     func(*reader, *section, *Channel)
}{
	{Telegram, 3 * time.Second, (*reader).telegram},
	{WhatsApp, 4 * time.Second, (*reader).whatsapp},
	{Slack, 2 * time.Second, (*reader).slack},
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
	var names []string
	for _, kind := range channelKinds {
		names = append(names, kind.name)
	}
	if !s.oneOf("kind", &c.Kind, names...) {
		s.missing("kind", "it must be %s", alternatives(names))
		return c, false
	}
	kind := channelKinds[slices.Index(names, c.Kind)]
	c.Debounce, c.MaxWait, c.TakeoverFor = kind.debounce, channelMaxWait, time.Hour
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
	kind.read(r, s, &c)
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

// whatsapp reads the keys of kind whatsapp. The id of the number has digits only, and may
// stand without quotes.
func (r *reader) whatsapp(s *section, c *Channel) {
	if v, ok := s.take("phone_number_id"); ok {
		found, ok := r.scalar(v, "the id of the number")
		switch {
		case !ok:
		case !phoneNumberIDForm.MatchString(found.text):
			r.report(v.place, "must be the id that Meta shows beside the number, such as 106540352242922")
		default:
			c.PhoneNumberID = found.text
		}
	}
	s.missing("phone_number_id", "Meta shows it beside the number, under API Setup")
	s.checked("token", &c.Token, accessToken)
	s.missing("token", "it is the access token of a system user with whatsapp_business_messaging")
	s.checked("app_secret", &c.AppSecret, notEmpty)
	s.missing("app_secret", "it is in the settings of the Meta app, under Basic")
	s.checked("verify_token", &c.VerifyToken, notEmpty)
	s.missing("verify_token", "make one with: openssl rand -hex 32")
}

// slack reads the keys of kind slack.
func (r *reader) slack(s *section, c *Channel) {
	s.checked("bot_token", &c.BotToken, accessToken)
	s.missing("bot_token", "it is the token xoxb-… under OAuth & Permissions of the app")
	s.checked("signing_secret", &c.SigningSecret, notEmpty)
	s.missing("signing_secret", "it is under Basic Information of the app")
}

var (
	phoneNumberIDForm  = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
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

// accessToken refuses a text that can't stand in a header. Its error does not show the
// text.
func accessToken(text string) error {
	if text == "" || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7F }) {
		return errors.New("must be an access token, without blanks")
	}
	return nil
}

func notEmpty(text string) error {
	if text == "" {
		return errors.New("must not be empty")
	}
	return nil
}
