package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A console that is open while nothing happens asks now and then, and is told
// nothing: counted are its requests, and the node's processor time beside what
// the node takes without it.
func TestConsoleCostsNothingWhileNothingHappens(t *testing.T) {
	t.Parallel()
	const watched = 5 * time.Second
	d := sit(t, "")
	for i := range 20 {
		d.says("shop", fmt.Sprint("c", i), "m", "[m]")
	}
	for i := range 20 {
		d.api.rests(t, d.base, "shop", fmt.Sprint("c", i))
	}
	for _, page := range []string{"#/overview", "#/conversations", "#/attention", "#/c/shop/c1"} {
		d.visit(page)
		requests, busy := d.spent()
		<-time.After(watched)
		after, busyAfter := d.spent()
		requests, busy = after-requests, busyAfter-busy
		t.Logf("%s: %d requests and %v of processor time in %v", page, requests, busy, watched)
		if requests > 4 {
			t.Errorf("%s, open and idle, made %d requests in %v", page, requests, watched)
		}
		if busy > watched/20 {
			t.Errorf("%s, open and idle, took %v of processor time in %v", page, busy, watched)
		}
	}
}

// spent is how many requests the node has answered so far, and the processor time
// that it has used.
func (d *desk) spent() (requests int, busy time.Duration) {
	d.t.Helper()
	for name, value := range d.api.metrics(d.t, d.base) {
		switch {
		case strings.HasPrefix(name, "onereply_http_requests_total"):
			requests += int(value)
		case name == "process_cpu_seconds_total":
			busy = time.Duration(value * float64(time.Second))
		}
	}
	return requests, busy
}

// Consoles that do not read what they are sent, and many that do, slow no
// acknowledgement. The two are measured in turn, so that the machine is the
// same for both.
func TestManyConsolesSlowNoAcknowledgement(t *testing.T) {
	n := start(t, nil, settings(t, t.TempDir(), "bots:\n  support:\n    debounce: 20ms\n    responder: {kind: echo, delay: 20ms}\n")...)
	d := &desk{api: newCaller(t), node: n, page: &page{t: t, base: n.url}}
	sent := 0
	measure := func() time.Duration {
		took := make([]time.Duration, 0, 200)
		for range cap(took) {
			sent++
			id := fmt.Sprint("m", sent)
			began := time.Now()
			d.says("support", "c"+strconv.Itoa(sent%50), id, strings.Repeat("so many words ", 50))
			took = append(took, time.Since(began))
		}
		slices.Sort(took)
		return took[len(took)/2]
	}
	var alone, watched []time.Duration
	for range 3 {
		alone = append(alone, measure())
		leave := d.watchFrom(100, 20)
		watched = append(watched, measure())
		leave()
	}
	slices.Sort(alone)
	slices.Sort(watched)
	t.Logf("median acknowledgement: alone %v, with 120 consoles %v", alone, watched)
	if watched[1] > 5*alone[1]+20*time.Millisecond {
		t.Errorf("an acknowledgement takes %v with 120 consoles open, and %v with none", watched[1], alone[1])
	}
}

// watchFrom opens event streams: some that never read, and some that do.
func (d *desk) watchFrom(stuck, reading int) (leave func()) {
	d.t.Helper()
	var open []net.Conn
	for i := range stuck + reading {
		c, err := net.Dial("tcp", strings.TrimPrefix(d.base, "http://"))
		if err != nil {
			d.t.Fatal(err)
		}
		open = append(open, c)
		if _, err := fmt.Fprintf(c, "GET /v1/events HTTP/1.1\r\nHost: %s\r\n\r\n", strings.TrimPrefix(d.base, "http://")); err != nil {
			d.t.Fatal(err)
		}
		head := bufio.NewReader(c)
		if line, err := head.ReadString('\n'); err != nil || !strings.Contains(line, "200") {
			d.t.Fatalf("the stream was answered %q, %v", line, err)
		}
		if i >= stuck {
			go func() { _, _ = head.WriteTo(io.Discard) }() // until it is closed
		}
	}
	return func() {
		for _, c := range open {
			_ = c.Close()
		}
	}
}
