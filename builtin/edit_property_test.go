package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/adze-dev/adze/internal/dev/soak"
	"github.com/adze-dev/adze/internal/engine/text"
	"github.com/adze-dev/adze/tool"
)

// For random bytes and a random edit, every byte outside the edit is the same afterwards.
func TestEditKeepsEveryOtherByte(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	x := executor(open(t, dir))
	rapid.Check(t, func(t *rapid.T) {
		before, after := randomBytes(t, "before"), randomBytes(t, "after")
		content := bytes.Join([][]byte{before, []byte("<the one place>"), after}, nil)
		if _, err := text.Decode(content); errors.Is(err, text.ErrBinary) {
			t.Skip("not a text")
		}
		if doc, _ := text.Decode(content); strings.Count(doc.Text, "<the one place>") != 1 {
			t.Skip("the place cannot be named in this encoding")
		}
		if err := os.WriteFile(path, content, 0o666); err != nil {
			t.Fatal(err)
		}
		if o := batchOf(x, "read_file", args{"absolute_path": path, "limit": 1}); o.Status != tool.StatusSuccess {
			t.Fatal(o.Result.Text())
		}
		fresh := rapid.StringMatching(`[ -~\n]{0,20}`).Draw(t, "new")
		o := batchOf(x, "edit", args{"file_path": path, "old_string": "<the one place>", "new_string": fresh})
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(o.Result.Text(), "would combine with them") && bytes.Equal(got, content) {
			t.Skip("next to invalid bytes the new text would be read as another; it is an error")
		}
		if o.Status != tool.StatusSuccess {
			t.Fatal(o.Result.Text())
		}
		if !bytes.HasPrefix(got, before) || !bytes.HasSuffix(got, after) || len(got) < len(before)+len(after) {
			t.Fatalf("outside the edit bytes changed:\n%q\n%q", content, got)
		}
		middle := string(got[len(before) : len(got)-len(after)])
		if plain := strings.ReplaceAll(strings.ReplaceAll(middle, "\r\n", "\n"), "\x00", ""); plain != fresh {
			t.Fatalf("the new text is %q, not %q", middle, fresh)
		}
	})
}

// randomBytes returns lines of words, blanks, odd bytes and all sorts of line endings.
func randomBytes(t *rapid.T, label string) []byte {
	piece := rapid.OneOf(
		rapid.SampledFrom([]string{"\n", "\r\n", "\r", " ", "\t", "\ufeff", "naïve", "中文", "\xff", "\xe9t\xe9", "\x82\xa0", "\xd6\xd0", "“x”"}),
		rapid.StringMatching(`[a-z ]{1,8}`),
	)
	return []byte(strings.Join(rapid.SliceOfN(piece, 0, 30).Draw(t, label), ""))
}

func batchOf(x *tool.Executor, name string, a args) tool.Outcome {
	raw, _ := json.Marshal(a)
	b := x.Batch(context.Background())
	b.Add(tool.Call{Name: name, Args: raw})
	return b.Wait()[0]
}

// Concurrent edits of one file, by one agent and by several independent sessions, lose none.
func TestParallelEditsLoseNone(t *testing.T) {
	n := soak.Count(60, 1000)
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "[%d]\n", i)
	}
	put(t, dir, map[string]string{"a": b.String()})
	x := executor(open(t, dir))
	for _, first := range []int{0, n / 2} { // all of a long file must be read, or at least some of it
		call(t, x, "read_file", args{"absolute_path": path, "offset": first})
	}
	batch := x.Batch(t.Context())
	for i := range n {
		raw, _ := json.Marshal(args{"file_path": path, "old_string": fmt.Sprintf("[%d]", i), "new_string": fmt.Sprintf("<%d>", i)})
		batch.Add(tool.Call{Name: "edit", Args: raw})
	}
	for _, o := range batch.Wait() {
		if o.Status != tool.StatusSuccess {
			t.Fatal(o.Result.Text())
		}
	}
	want := strings.NewReplacer("[", "<", "]", ">").Replace(b.String())
	if got, _ := os.ReadFile(path); string(got) != want {
		t.Error("edits were lost")
	}
}

func TestParallelSessionsLoseNone(t *testing.T) {
	sessions, each := 4, soak.Count(10, 250)
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	var b strings.Builder
	for i := range sessions * each {
		fmt.Fprintf(&b, "[%d]\n", i)
	}
	put(t, dir, map[string]string{"a": b.String()})
	done := make(chan error, sessions)
	for s := range sessions {
		x := executor(open(t, dir))
		go func() { done <- editAll(x, path, s*each, (s+1)*each) }()
	}
	for range sessions {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	want := strings.NewReplacer("[", "<", "]", ">").Replace(b.String())
	if got, _ := os.ReadFile(path); string(got) != want {
		t.Error("edits were lost")
	}
}

// editAll edits lines one by one, and reads again after a conflict.
func editAll(x *tool.Executor, path string, from, to int) error {
	for i := from; i < to; {
		batchOf(x, "read_file", args{"absolute_path": path, "limit": 1})
		o := batchOf(x, "edit", args{"file_path": path, "old_string": fmt.Sprintf("[%d]", i), "new_string": fmt.Sprintf("<%d>", i)})
		switch {
		case o.Status == tool.StatusSuccess:
			i++
		case o.Error.Type != changedSinceRead:
			return errors.New(o.Result.Text())
		}
	}
	return nil
}
