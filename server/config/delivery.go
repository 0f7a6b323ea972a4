package config

import (
	"time"

	"github.com/onereply/onereply"
)

// delivery reads the settings of the delivery. Without that section, replies go to the
// transcript and the event stream only. The default of the time-out depends on the lease:
// 15s, or half the lease if that is less. So it is set after the timing was read, and
// also without a section.
func (r *reader) delivery(bot *section, b *Bot) {
	b.Delivery.Kind = None
	b.Settings.SendTimeout = min(15*time.Second, b.Settings.Lease/2)
	v, ok := bot.take("delivery")
	if !ok {
		return
	}
	s, ok := r.section(v)
	if !ok {
		return
	}
	if !s.oneOf("kind", &b.Delivery.Kind, Webhook, None) {
		s.missing("kind", "it must be %s", alternatives([]string{Webhook, None}))
		return
	}
	if b.Delivery.Kind == Webhook {
		r.webhookDelivery(s, b)
	} else {
		s.foreign(b.Delivery.Kind, []string{Webhook}, "url", "secret", "headers", "retry_for", "timeout", "limit", "parts")
	}
	s.close()
}

// webhookDelivery reads the keys of kind webhook. A reply is sent in one call by default:
// then no part can arrive without the others. The limit counts code points of one part.
// The requests are signed only if there is a secret; the receiver can then tell that they
// are genuine.
func (r *reader) webhookDelivery(s *section, b *Bot) {
	s.target(&b.Delivery.URL, &b.Delivery.Secret)
	s.headers("headers", &b.Delivery.Headers)
	s.duration("retry_for", &b.Settings.RetryFor, 0)
	s.count("limit", &b.Delivery.Limit, 1, onereply.MaxReplyBytes)
	parts := "together"
	s.oneOf("parts", &parts, "together", "separate")
	b.Delivery.Separate = parts == "separate"
	r.sendTimeout(s, &b.Settings)
}

// sendTimeout reads how long one send may take. A send must end well within its lease, so
// that nobody else starts meanwhile. The default needs no check: it is at most half of
// the lease already. Another node could otherwise take over the conversation, and send
// the same part.
func (r *reader) sendTimeout(s *section, b *onereply.Bot) {
	if s.duration("timeout", &b.SendTimeout, time.Millisecond) && b.SendTimeout > b.Lease/2 {
		r.report(s.at("timeout"), "must be at most half the bot's lease (%s), it is %s", span(b.Lease/2), span(b.SendTimeout))
	}
}
