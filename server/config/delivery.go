package config

import (
	"time"

	"github.com/onereply/onereply"
)

// delivery reads the settings of the delivery. Without that section, replies go to the
// transcript and the event stream only.
func (r *reader) delivery(bot *section, b *Bot) {
	b.Delivery.Kind = None
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
		s.foreign(b.Delivery.Kind, []string{Webhook}, "url", "secret", "headers", "retry_for", "timeout", "limit", "parts", "pace", "typing")
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
	s.duration("timeout", &b.Settings.SendTimeout, time.Millisecond)
	s.boolean("typing", &b.Settings.Typing)
	r.parts(s, b)
}

// parts reads whether each part is a call of its own, and how long to pause before each
// further one. Who asks for pauses wants separate parts.
func (r *reader) parts(s *section, b *Bot) {
	parts := "together"
	s.oneOf("parts", &parts, "together", "separate")
	paced, ok := s.take("pace")
	switch {
	case !ok:
	case !s.has("parts"):
		parts = "separate"
	case parts == "together":
		r.report(paced.place, "has no effect where all parts go out in one call; set parts to separate")
	}
	b.Delivery.Separate = parts == "separate"
	if !ok {
		return
	}
	if p, ok := r.section(paced); ok {
		r.pace(p, &b.Settings.Pace)
		p.close()
	}
}

// pace reads the pauses. A hard cap of 0 is the one that the library sets.
func (r *reader) pace(s *section, p *onereply.Pace) {
	read := func(key string, d *time.Duration) {
		if s.duration(key, d, 0) && *d > onereply.MaxPause {
			r.report(s.at(key), "must be at most %s, it is %s", span(onereply.MaxPause), span(*d))
		}
	}
	read("per_character", &p.PerCharacter)
	read("least", &p.Least)
	read("most", &p.Most)
	if p.Most != 0 && p.Most < p.Least {
		r.report(s.at("most"), "must not be less than least (%s), it is %s", span(p.Least), span(p.Most))
	}
}
