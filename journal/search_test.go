package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// talk makes a session in which the user asks, and the model calls a tool, gets a result, and answers.
func talk(t testing.TB, s Sessions, n int, ask, args, result, answer string) {
	t.Helper()
	f, err := s.Create(id(n))
	if err != nil {
		t.Fatal(err)
	}
	w := NewWriter(f, s.Store(), State{})
	call := tool.Call{ID: "c1", Name: "read_file", Args: json.RawMessage(args)}
	for _, d := range []Data{
		Opened{ID: id(n), CWD: "/w", Model: "m", System: "You are the word system."},
		Message{Message: model.Prompt(ask)}, Asked{Turn: 1}, Called{Turn: 1, Call: model.Call{Call: call}},
		Answer{Turn: 1, Message: model.Message{Role: model.Assistant, Parts: []model.Part{model.Call{Call: call}}}},
		Responses{Turn: 1, Message: model.Message{Role: model.Tool, Parts: []model.Part{
			model.Response{ID: "c1", Name: "read_file", Content: []tool.Part{tool.Text(result)}},
		}}},
		Answer{Turn: 2, Message: model.Message{Role: model.Assistant, Parts: []model.Part{model.Text(answer)}}},
	} {
		if _, err := w.Write("", d); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func masked(text string) string { return strings.ReplaceAll(text, "sesame", "(masked)") }

func search(t *testing.T, s Sessions, words ...string) string {
	t.Helper()
	hits, err := s.Search(words, masked)
	if err != nil {
		t.Error(err)
	}
	var out []string
	for _, h := range hits {
		for _, x := range h.Texts {
			out = append(out, fmt.Sprintf("%s %s %d", h.ID[7:8], x.Role, x.Seq))
		}
		if h.More {
			out = append(out, "more")
		}
	}
	return strings.Join(out, ", ")
}

// Texts are found wherever the words are in them, once, in any case, in long texts beside the journal and in archives.
func TestSearch(t *testing.T) {
	s := Sessions{Home: t.TempDir()}
	talk(t, s, 1, "Fix the Login redirect", `{"path":"a \"quoted\" <b>"}`, "line one\nREDIRECT to login\n", "sesame: done — É")
	talk(t, s, 2, "long "+strings.Repeat("filler\n", 20_000)+"needle at the end of it", `{}`, "Größe 漢字 tab\there", "ok")
	talk(t, s, 3, strings.Repeat("x ", 20_000), `{}`, "login", strings.Repeat("login ", 9))
	for n, at := range []time.Duration{0, 3, 2, 1} {
		if n > 0 {
			old := time.Now().Add(-8*24*time.Hour - at*time.Hour)
			if err := os.Chtimes(s.Path(id(n)), old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	check := func(when string) {
		t.Helper()
		for _, c := range []struct{ words, want string }{
			{"login redirect", "1 user 2, 1 tool 6"},
			{"LOGIN one", "1 tool 6"},
			{`"quoted"`, ""}, // the model wrote it with an escape
			{`quoted`, "1 assistant 5"},
			{"<b>", "1 assistant 5"},
			{"é", "1 assistant 7"},
			{"größe", "2 tool 6"},
			{"漢字", "2 tool 6"},
			{"needle end", "2 user 2"},
			{"sesame", ""},
			{"system", ""},
			{"read_file", "1 assistant 5, 2 assistant 5, 3 assistant 5"},
			{"nowhere", ""},
		} {
			got := strings.Split(search(t, s, strings.Fields(c.words)...), ", ")
			want := strings.Split(c.want, ", ")
			if len(got) != len(want) || !subset(want, got) {
				t.Errorf("%s: %s: got %v, want %s", when, c.words, got, c.want)
			}
		}
	}
	check("plain")
	archiveAll(t, s)
	if !s.has(2, archiveName) && !s.has(3, archiveName) {
		t.Fatal("nothing is archived")
	}
	check("archived")
	// A damaged archive is searched as far as it goes, and reported.
	packed := filepath.Join(s.Dir(id(3)), archiveName)
	if err := os.Truncate(packed, int64(len(read(t, packed))/2)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Search([]string{"nowhere"}, masked); err == nil || !strings.Contains(err.Error(), "unexpected EOF") {
		t.Errorf("damaged: %v", err)
	}
}

func subset(all, of []string) bool {
	for _, a := range all {
		if !strings.Contains(strings.Join(of, ", "), a) {
			return false
		}
	}
	return true
}

// BenchmarkSearch searches 1,000 sessions of 200 KB for words that few of them have.
func BenchmarkSearch(b *testing.B) {
	var source bytes.Buffer
	files, _ := filepath.Glob("*.go")
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			b.Fatal(err)
		}
		source.Write(text)
	}
	for _, packed := range []bool{false, true} {
		s := Sessions{Home: b.TempDir()}
		for n := range 1000 {
			f, err := s.Create(id(n))
			if err != nil {
				b.Fatal(err)
			}
			w := NewWriter(f, s.Store(), State{})
			data := []Data{Opened{ID: id(n), CWD: "/w", Model: "m"}, Message{Message: model.Prompt("Fix the parser")}}
			for i := range 20 {
				at := (n*7919 + i*10_007) % (source.Len() - 5000)
				text := string(bytes.ToValidUTF8(source.Bytes()[at:at+4500], nil))
				data = append(data, Finished{ID: fmt.Sprint(i), Outcome: Ended(tool.Outcome{Name: "read_file",
					Result: tool.TextResult(text)})}, Responses{Message: model.Message{Role: model.Tool, Parts: []model.Part{
					model.Response{ID: fmt.Sprint(i), Content: []tool.Part{tool.Text(text)}}}}})
			}
			if n%100 == 0 {
				data = append(data, Message{Message: model.Prompt("the zirconium needle")})
			}
			for _, d := range data {
				if _, err := w.Write("", d); err != nil {
					b.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				b.Fatal(err)
			}
		}
		if packed {
			if err := s.Archive(0, time.Now().Add(time.Hour), nil); err != nil {
				b.Fatal(err)
			}
		}
		for _, words := range []string{"zirconium needle", "statement", "relative error"} {
			b.Run(fmt.Sprintf("packed=%v/%s", packed, words), func(b *testing.B) {
				for b.Loop() {
					if _, err := s.Search(strings.Fields(words), masked); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
