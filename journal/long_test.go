package journal

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/dev/serial"
	"github.com/adze-dev/adze/internal/dev/soak"
)

// A journal of 2 GB is opened without reading more than what counts, and without keeping it in memory.
func TestLongJournal(t *testing.T) {
	serial.Test(t)
	size := soak.Count(100<<20, 2<<30-1)
	s := Sessions{Home: t.TempDir()}
	f := record(t, s, testID, "Fix the parser", 1)
	path := f.Path()
	f.Close()
	seq := fillJournal(t, path, 5, size)
	f, state, err := s.Open(testID)
	if err != nil {
		t.Fatal(err)
	}
	w := NewWriter(f, s.Store(), state)
	if _, err := w.Write("", Compacted{}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write("", Asked{Turn: 7}); err != nil {
		t.Fatal(err)
	}
	f.Close()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f, state, err = s.Open(testID)
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	if state.Seq != seq+2 || state.Title != "Fix the parser" || state.Agent("").Turn != 7 {
		t.Errorf("entry %d, title %q, turn %d", state.Seq, state.Title, state.Agent("").Turn)
	}
	if used := after.TotalAlloc - before.TotalAlloc; size > 64<<20 && used > 64<<20 {
		t.Errorf("%d MB were allocated", used>>20)
	}
	if i, err := s.Info(testID); err != nil || i.Turns != 1 || i.Bytes < int64(size) {
		t.Errorf("%+v, %v", i, err)
	}
}

// fillJournal adds entries that change nothing.
func fillJournal(t *testing.T, path string, seq int64, size int) int64 {
	t.Helper()
	f, err := os.OpenFile(filepath.Clean(path), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	out := bufio.NewWriterSize(f, 1<<20)
	content := strings.Repeat("x", 60_000)
	for n := 0; n < size; n += len(content) {
		seq++
		fmt.Fprintf(out, `{"v":1,"seq":%d,"at":"2026-11-16T06:00:00Z","by":"explore-1","type":"call.finished","data":{"id":"c","outcome":{"name":"x","status":"success","result":{"llmContent":"%s"},"ms":1}}}`+"\n", seq, content)
	}
	if err := out.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return seq
}
