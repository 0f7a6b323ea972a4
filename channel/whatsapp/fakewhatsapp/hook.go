package fakewhatsapp

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// hook posts events to an address, one after the other.
type hook struct {
	client  *http.Client
	address string

	mu      sync.Mutex
	waiting []posting
	more    chan struct{} // holds a token when something waits
}

type posting struct {
	body      []byte
	signature string
}

// Pauses between two posts of the same event.
const (
	firstPause = time.Second
	mostPause  = time.Minute
)

// Subscribe verifies an address as Meta does, and posts all events there until ctx ends.
// The returned function waits for that.
func (f *WhatsApp) Subscribe(ctx context.Context, client *http.Client, address string) (ended func(), err error) {
	challenge := rand.Text()
	query := url.Values{"hub.mode": {"subscribe"}, "hub.verify_token": {f.account.VerifyToken}, "hub.challenge": {challenge}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"?"+query.Encode(), nil)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	said, err := io.ReadAll(io.LimitReader(response.Body, 4<<10))
	switch {
	case err != nil:
		return nil, err
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("the address answered %d: %s", response.StatusCode, said)
	case string(said) != challenge:
		return nil, errors.New("the address did not repeat the challenge")
	}
	h := &hook{client: client, address: address, more: make(chan struct{}, 1)}
	f.mu.Lock()
	f.hook = h
	f.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.run(ctx)
	}()
	return func() { <-done }, nil
}

// Say has somebody write to the number. The webhook is told.
func (f *WhatsApp) Say(p Person, id, text string) { f.Tell(f.Messages(p, f.Text(p, id, text))) }

// Tell tells the webhook of changes. Without one they are lost.
func (f *WhatsApp) Tell(changes ...map[string]any) {
	body, signature := f.Body(changes...)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.hook != nil {
		f.hook.add(body, signature)
	}
}

func (h *hook) add(body []byte, signature string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waiting = append(h.waiting, posting{body, signature})
	select {
	case h.more <- struct{}{}:
	default:
	}
}

// run posts what waits. An event that is not answered with success comes again, after
// growing pauses.
func (h *hook) run(ctx context.Context) {
	for pause := firstPause; ; {
		h.mu.Lock()
		var next *posting
		if len(h.waiting) > 0 {
			next = &h.waiting[0]
		}
		h.mu.Unlock()
		if next == nil {
			select {
			case <-ctx.Done():
				return
			case <-h.more:
				continue
			}
		}
		if h.post(ctx, *next) {
			pause = firstPause
			h.mu.Lock()
			h.waiting = h.waiting[1:]
			h.mu.Unlock()
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
			pause = min(2*pause, mostPause)
		}
	}
}

func (h *hook) post(ctx context.Context, p posting) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, h.address, bytes.NewReader(p.body))
	if err != nil {
		return false
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-Hub-Signature-256", p.signature)
	response, err := h.client.Do(request)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	return response.StatusCode == http.StatusOK
}
