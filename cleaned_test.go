package onereply

import (
	"strings"
	"testing"
)

func TestCleanedReplies(t *testing.T) {
	bot := Bot{Silence: "NO_REPLY"}
	tests := []struct {
		reply  Reply
		silent bool
	}{
		{Reply{Text: "NO_REPLY"}, true},
		{Reply{Text: " \n NO_REPLY\n"}, true},
		{Reply{Text: "<think>nothing to add</think>\nNO_REPLY"}, true},
		{Reply{Parts: []string{"NO_REPLY"}}, true},
		{Reply{Text: "NO_REPLY."}, false},
		{Reply{Text: "say NO_REPLY"}, false},
		{Reply{Text: "no_reply"}, false},
	}
	for _, test := range tests {
		if got := bot.cleaned(test.reply); got.Silent != test.silent {
			t.Errorf("%+v is silent: %v", test.reply, got.Silent)
		}
	}
	if (Bot{}).cleaned(Reply{Text: " "}).Silent {
		t.Error("a blank reply is silent where there is no marker")
	}
	kept := Bot{KeepThinking: true}.cleaned(Reply{Text: "<think>hm</think>hi"})
	if kept.Text != "<think>hm</think>hi" {
		t.Errorf("the thinking is gone: %q", kept.Text)
	}
}

func TestCleanedDeltas(t *testing.T) {
	tests := []struct {
		bot    Bot
		pieces []string
		want   string // with a bar between what is shown at once
	}{
		{Bot{}, []string{"<th", "ink>h", "m</thi", "nk>", "\n", "he", "llo"}, "he|llo"},
		{Bot{KeepThinking: true}, []string{"<think>", "hm"}, "<think>|hm"},
		{Bot{Silence: "NO_REPLY"}, []string{"NO", "_REPLY", "\n"}, ""},
		{Bot{Silence: "NO_REPLY"}, []string{" NO", "_RE", "ASON to"}, " NO_REASON to"},
		{Bot{Silence: "NO_REPLY"}, []string{"No", " way", " out"}, "No| way| out"},
		{Bot{Silence: "NO_REPLY"}, []string{"<think>NO</think>", "NO_REPLY"}, ""},
	}
	for _, test := range tests {
		var shown []string
		delta := test.bot.cleanedDelta(func(piece string) { shown = append(shown, piece) })
		for _, piece := range test.pieces {
			delta(piece)
		}
		if got := strings.Join(shown, "|"); got != test.want {
			t.Errorf("%q are shown as %q, want %q", test.pieces, got, test.want)
		}
	}
}
