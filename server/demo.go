package server

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// Demo changes the settings of a running demo. Its methods may be called from many
// goroutines at once. It exists for the page of the demo, where people try how the quiet
// time feels.
type Demo interface {
	Settings(ctx context.Context) (DemoSettings, error)
	// Change is called with settings within their bounds. An [*onereply.Error] tells the
	// client of other mistakes.
	Change(ctx context.Context, s DemoSettings) error
}

// DemoSettings are the settings of the demo's bot.
type DemoSettings struct {
	Debounce   time.Duration // 0 to MaxDemoWait
	MaxWait    time.Duration // Debounce to MaxDemoWait
	ModelDelay time.Duration // how long the model takes; 0 to MaxDemoWait
}

// MaxDemoWait bounds each of the [DemoSettings].
const MaxDemoWait = time.Minute

// demoSettings are the settings in JSON. An absent one stays as it is.
type demoSettings struct {
	Debounce   *string `json:"debounce"`
	MaxWait    *string `json:"max_wait"`
	ModelDelay *string `json:"model_delay"`
}

// demoSettingsOf writes the settings as JSON has them: durations are texts.
func demoSettingsOf(s DemoSettings) demoSettings {
	text := func(d time.Duration) *string { out := d.String(); return &out }
	return demoSettings{Debounce: text(s.Debounce), MaxWait: text(s.MaxWait), ModelDelay: text(s.ModelDelay)}
}

// into changes the settings that were sent. It stops at the first mistake, and out is
// then not used.
func (s demoSettings) into(out *DemoSettings) error {
	for _, one := range []struct {
		name string
		text *string
		into *time.Duration
	}{{"debounce", s.Debounce, &out.Debounce}, {"max_wait", s.MaxWait, &out.MaxWait}, {"model_delay", s.ModelDelay, &out.ModelDelay}} {
		if one.text == nil {
			continue
		}
		d, err := time.ParseDuration(*one.text)
		if err != nil || d < 0 || d > MaxDemoWait {
			return errField(one.name, `It must be a duration from 0s to %v, such as "1.5s".`, MaxDemoWait)
		}
		*one.into = d
	}
	return nil
}

// getDemoSettings answers with the settings that are in force.
func (s *Server) getDemoSettings(w http.ResponseWriter, r *http.Request) error {
	now, err := s.demoSettings(r)
	if err != nil {
		return err
	}
	return respond(w, http.StatusOK, demoSettingsOf(now))
}

// putDemoSettings changes the settings that the body names, and answers with all of them.
// Two changes at the same time may lose one of them; a demo has one user.
func (s *Server) putDemoSettings(w http.ResponseWriter, r *http.Request) error {
	var body demoSettings
	if err := decode(w, r, &body); err != nil {
		return err
	}
	wanted, err := s.demoSettings(r)
	if err != nil {
		return err
	}
	if err := body.into(&wanted); err != nil {
		return err
	}
	if err := s.options.Demo.Change(r.Context(), wanted); err != nil {
		return fmt.Errorf("change the demo's settings: %w", err)
	}
	return respond(w, http.StatusOK, demoSettingsOf(wanted))
}

// demoSettings are the settings now. Only this machine may see and change them: an
// operator who puts a demo behind a proxy does not mean to let others change it.
func (s *Server) demoSettings(r *http.Request) (DemoSettings, error) {
	switch {
	case s.options.Demo == nil:
		return DemoSettings{}, newProblem(kindUnknownRoute, "Only onereply demo has settings that can be changed while it runs.")
	case !isLoopback(r.Host) || !isLoopback(r.RemoteAddr):
		return DemoSettings{}, newProblem(kindWrongHost, "The settings of the demo are for this machine only.")
	}
	return s.options.Demo.Settings(r.Context())
}
