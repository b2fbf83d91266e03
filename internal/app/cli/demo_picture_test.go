package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze/internal/app/demo"
	"github.com/adze-dev/adze/internal/app/playback"
	"github.com/adze-dev/adze/internal/app/recording"
	"github.com/adze-dev/adze/internal/app/session"
	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/permission"
)

// The README's picture is a replay of the demo: its journal, with the times, paths and order of a calm machine.
func TestReadmePicture(t *testing.T) {
	t.Parallel()
	entries := smooth(t, demoJournal(t))
	var picture bytes.Buffer
	film(t, entries, &playback.Recording{SVG: &picture, Title: "adze demo", Began: entries[0].At})
	path := filepath.Join("..", "..", "..", "docs", "demo.svg")
	if *update {
		if err := os.WriteFile(path, picture.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, picture.Bytes()) {
		t.Errorf("docs/demo.svg is stale (%v): run make golden", err)
	}
	var again bytes.Buffer
	film(t, entries, &playback.Recording{SVG: &again, Title: "adze demo", Began: entries[0].At})
	if !bytes.Equal(picture.Bytes(), again.Bytes()) {
		t.Error("two pictures of one journal differ")
	}
}

func film(t *testing.T, entries []journal.Entry, rec *playback.Recording) {
	t.Helper()
	if _, err := playback.Play(t.Context(), each(entries), &journal.MemoryBlobs{}, rec.Options(1)); err != nil {
		t.Fatal(err)
	}
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
}

func each(entries []journal.Entry) iter.Seq2[journal.Entry, error] {
	return func(yield func(journal.Entry, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// demoJournal runs the demo and returns its journal.
func demoJournal(t *testing.T) []journal.Entry {
	t.Helper()
	var out bytes.Buffer
	p, err := demo.New()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	d := &demonstration{p, Env{
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: io.Discard, Dir: t.TempDir(), Home: t.TempDir(), Helper: helper,
		Getenv: func(name string) string {
			if name == "PATH" {
				return os.Getenv(name)
			}
			return ""
		},
	}}
	const id = "00000000-0000-4000-8000-000000000000"
	o := &options{cwd: d.Dir, mode: permission.Plan}
	if err := d.print(context.WithoutCancel(t.Context()), o, session.Options{Record: &recording.Options{ID: id}}); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	all := journal.Sessions{Home: filepath.Join(d.Home, ".adze")}
	log, err := all.Entries(id)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	var entries []journal.Entry
	for e, err := range log.Read(1) {
		if err == nil {
			e, err = journal.Resolve(e, all.Store())
		}
		if err != nil {
			t.Fatal(err)
		}
		e.Data = json.RawMessage(same(string(e.Data), p))
		entries = append(entries, e)
	}
	return entries
}

// same replaces what differs from run to run.
func same(text string, p *demo.Project) string {
	text = strings.ReplaceAll(text, filepath.Dir(p.Home), "/home/ada")
	text = regexp.MustCompile(`127\.0\.0\.1:\d+`).ReplaceAllString(text, "127.0.0.1:8000")
	text = regexp.MustCompile(`"ms":\d+`).ReplaceAllString(text, `"ms":0`)
	return regexp.MustCompile(`Duration: [0-9.µms]+`).ReplaceAllString(text, "Duration: 3ms")
}

// slow is how long a page took, which results say from 100 ms on.
var slow = regexp.MustCompile(`(from 127\.0\.0\.1:\d+) in [0-9.]+ ?m?s`)

// smooth puts entries in the order in which a user would tell them, and at times at which they can be read.
func smooth(t *testing.T, entries []journal.Entry) []journal.Entry {
	t.Helper()
	sorted := inOrder(entries, "")
	now := time.Date(2026, 11, 16, 9, 0, 0, 0, time.UTC)
	out := sorted[:0:0]
	for i, e := range sorted {
		after := map[journal.Type]time.Duration{
			journal.TypeMessage: time.Second, journal.TypeAsked: 200 * time.Millisecond, journal.TypeCalled: 900 * time.Millisecond,
			journal.TypeAnswer: 100 * time.Millisecond, journal.TypeStarted: 100 * time.Millisecond, journal.TypeFinished: 300 * time.Millisecond,
		}[e.Type]
		switch {
		case e.Type == journal.TypeStarted && bytes.Contains(e.Data, []byte(`"kind":""`)): // the user read a question
			after = 1800 * time.Millisecond
		case e.Type == journal.TypeAnswer && sorted[i-1].Type != journal.TypeCalled: // only text
			after = 1800 * time.Millisecond
		}
		now = now.Add(after)
		e.Seq, e.At = int64(i+1), now
		e.Data = slow.ReplaceAll(e.Data, []byte("$1"))
		out = append(out, e)
	}
	return out
}

// inOrder sorts the entries of an agent: calls run one after another, in the order of their answer. What a subagent did is in the
// call that started it.
func inOrder(entries []journal.Entry, by string) []journal.Entry {
	var out, calls, others []journal.Entry // others happened while calls ran
	var answer *journal.Entry
	about := func(kind journal.Type, id string) []journal.Entry {
		return slices.DeleteFunc(slices.Clone(entries), func(e journal.Entry) bool {
			var data struct{ ID string }
			_ = json.Unmarshal(e.Data, &data)
			return e.By != by || e.Type != kind || data.ID != id
		})
	}
	for _, e := range entries {
		if e.By != by {
			continue
		}
		switch e.Type {
		case journal.TypeCalled:
			calls = append(calls, e)
		case journal.TypeStarted, journal.TypeFinished: // with their calls
		case journal.TypeAnswer:
			answer = &e
		case journal.TypeResponses:
			out = append(append(out, calls...), *answer)
			for _, c := range calls {
				var data journal.Called
				_ = json.Unmarshal(c.Data, &data)
				out = append(out, about(journal.TypeStarted, data.Call.ID)...)
				if data.Call.Name == "task" {
					out = append(out, inOrder(entries, "explore-1")...)
				}
				out = append(out, about(journal.TypeFinished, data.Call.ID)...)
			}
			out = append(append(out, others...), e)
			calls, others, answer = nil, nil, nil
		default:
			if len(calls) > 0 {
				others = append(others, e)
				continue
			}
			if answer != nil {
				out = append(out, *answer)
				answer = nil
			}
			out = append(out, e)
		}
	}
	if answer != nil {
		out = append(out, *answer)
	}
	return out
}
