package main

import (
	"bufio"
	"context"
	"io"
	"strings"
	"testing"
)

// The demo of a channel shows three messages and one answer that names all of them, and
// then waits to be ended.
func TestDemoOfAChannel(t *testing.T) {
	for kind := range demoPlatforms {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			demoOfAChannel(t, kind)
		})
	}
}

func demoOfAChannel(t *testing.T, kind string) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), waitLimit)
	defer stop()
	read, write := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{"demo", "--channel", kind}, strings.NewReader(""), write, write, func(string) (string, bool) { return "", false })
		write.Close()
	}()
	var shown []string
	for lines := bufio.NewScanner(read); lines.Scan(); {
		shown = append(shown, lines.Text())
		if strings.HasPrefix(lines.Text(), "3 messages, 1 reply.") {
			stop()
		}
	}
	if code := await(t, ended, "the end of the demo"); code != success {
		t.Errorf("exit code %d", code)
	}
	all := strings.Join(shown, "\n")
	if strings.Count(all, "Ann writes: ") != 3 || strings.Count(all, "the bot answers: ") != 1 || strings.Contains(all, "the bot is typing") != (kind != "slack") {
		t.Errorf("shown:\n%s", all)
	}
	_, answer, _ := strings.Cut(all, "the bot answers: ")
	for _, message := range burst {
		if !strings.Contains(answer, message.text) {
			t.Errorf("the answer lacks %q:\n%s", message.text, answer)
		}
	}
}
