package tui

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adze-dev/adze/internal/app/tui/viewer"
	"github.com/adze-dev/adze/internal/dev/serial"
	"github.com/adze-dev/adze/tool"
)

func TestTranscriptKeepsItems(t *testing.T) {
	var tr transcript
	tr.earlier = []Item{{Kind: ItemPrompt, Text: "before"}}
	var want []Item
	want = append(want, tr.earlier...)
	for i := range 1000 {
		item := Item{Kind: ItemCall, Status: tool.StatusError, Head: fmt.Sprint("Shell ", i), Text: strings.Repeat(fmt.Sprint(i, " "), 300)}
		tr.add(item)
		want = append(want, item)
	}
	var got []Item
	for i := range tr.len() {
		got = append(got, tr.at(i))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff[:min(len(diff), 500)])
	}
}

// 2,000 calls with long output take 16 MB: the oldest texts are dropped.
func TestTranscriptIsBounded(t *testing.T) {
	serial.Test(t)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var tr transcript
	for i := range 2000 {
		tr.add(Item{Kind: ItemCall, Head: "Shell", Text: strings.Repeat(string(rune('a'+i%4)), 25_000)})
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if used := int64(after.HeapAlloc) - int64(before.HeapAlloc); used > 20<<20 {
		t.Errorf("%d MB are in use", used>>20)
	}
	if got := tr.at(0).Text; got != droppedNote {
		t.Errorf("the first text is still there: %.20q", got)
	}
	if got := tr.at(tr.len() - 1).Text; got != strings.Repeat("d", 25_000) {
		t.Errorf("the last text is %.20q", got)
	}
	runtime.KeepAlive(&tr)
}

func TestTranscriptSearch(t *testing.T) {
	s := &Screen{}
	s.transcript.add(Item{Kind: ItemAnswer, Text: "some **bold** text"})
	s.transcript.add(Item{Kind: ItemCall, Head: "Shell make", Text: "all is well"})
	v := transcriptView{s}
	for _, test := range []struct {
		item int
		text string
		want viewer.Match
	}{
		{0, "bold text", viewer.Shown}, {0, "bald", viewer.Nowhere}, {1, "make", viewer.Shown}, {1, "is well", viewer.Folded}, {1, "ill", viewer.Nowhere},
	} {
		if got := v.Has(test.item, test.text); got != test.want {
			t.Errorf("%q in item %d: %v", test.text, test.item, got)
		}
	}
	v.Fold(1, false)
	if v.Has(1, "is well") != viewer.Shown {
		t.Error("unfolding shows the text")
	}
}
