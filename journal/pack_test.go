package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/dev/serial"
	"github.com/adze-dev/adze/internal/dev/soak"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// dump returns everything that is written of some data: the entry, and the contents in the store.
func dump(t *testing.T, w *Writer, log *Memory, blobs *MemoryBlobs, d Data) string {
	t.Helper()
	if _, err := w.Write("", d); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for e := range log.Read(1) {
		line, err := appendLine(nil, e)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(line)
	}
	for _, content := range blobs.kept {
		b.WriteString(content)
	}
	return b.String()
}

func TestSecretsAreMasked(t *testing.T) {
	secret := "s3cr\"et\\value\n-é"
	inJSON := appendText(nil, secret)
	inner := strings.Trim(string(inJSON), `"`)
	long := strings.Repeat("filler ", 20_000)
	for name, d := range map[string]Data{
		"text":      Message{Message: model.Prompt("the key is " + secret + ".")},
		"long text": Message{Message: model.Prompt(long + secret)},
		"argument":  Called{Call: model.Call{Call: tool.Call{ID: "a", Args: json.RawMessage(`{"x":["` + inner + `"]}`)}}},
		"key":       Called{Call: model.Call{Call: tool.Call{ID: "a", Args: json.RawMessage(`{"` + inner + `":1}`)}}},
		"not JSON":  Called{Call: model.Call{Call: tool.Call{ID: "a", Args: json.RawMessage(`{` + secret)}}},
		"like blob": Started{ID: "a", Args: json.RawMessage(`{"blob":"` + inner + `"}`)},
		"invalid":   Started{ID: "a", Args: json.RawMessage(`{"x":"` + "\xff" + inner + `"}`)},
		"result":    Finished{ID: "a", Outcome: Outcome{Result: tool.TextResult(secret), Error: &Failure{Message: secret}}},
		"system":    Opened{System: secret},
	} {
		log, blobs := &Memory{}, &MemoryBlobs{}
		w := newTestWriter(log, blobs)
		w.Mask = func(s string) string { return strings.ReplaceAll(s, secret, "[MASKED]") }
		all := dump(t, w, log, blobs, d)
		if strings.Contains(all, secret) || strings.Contains(all, inner) || strings.Contains(all, `cr\"et`) || !strings.Contains(all, "[MASKED]") {
			t.Errorf("%s: %.500s", name, all)
		}
	}
}

// No line exceeds the limit, whatever is long.
func TestLongData(t *testing.T) {
	serial.Test(t)
	t.Parallel()
	many := func(n int, s string) []model.Part {
		var parts []model.Part
		for i := range n {
			parts = append(parts, model.Text(fmt.Sprint(i, s)))
		}
		return parts
	}
	keys := map[string]int{}
	for i := range 15_000 {
		keys[fmt.Sprint("a key that is not short ", i)] = i
	}
	object, _ := json.Marshal(keys)
	for name, d := range map[string]Data{
		"a text":       Message{Message: model.Prompt(strings.Repeat("x", 1<<20))},
		"many texts":   Message{Message: model.Message{Role: model.User, Parts: many(40, strings.Repeat("\n", 30_000))}},
		"short texts":  Message{Message: model.Message{Role: model.User, Parts: many(25_000, "short")}},
		"media":        Message{Message: model.Message{Role: model.User, Parts: []model.Part{model.Media{Media: tool.Media{MIMEType: "image/png", Data: make([]byte, 1<<20)}}}}},
		"arguments":    Called{Call: model.Call{Call: tool.Call{ID: "a", Args: object}}},
		"not JSON":     Called{Call: model.Call{Call: tool.Call{ID: "a", Args: json.RawMessage(strings.Repeat("{", 1<<20))}}},
		"a long key":   Started{ID: "a", Args: json.RawMessage(`{"` + strings.Repeat("k", 1<<20) + `":1}`)},
		"invalid text": Started{ID: "a", Args: json.RawMessage(`{"a":"` + strings.Repeat("\xff", 600_000) + `"}`)},
		"sealed":       Answer{Message: model.Message{Role: model.Assistant, Parts: []model.Part{model.Sealed{API: "a", JSON: json.RawMessage(strings.Repeat(" ", 1<<20))}}}},
		"a mime type":  Started{ID: "a", Args: json.RawMessage(`{"mimeType":"x","data":"` + strings.Repeat("no base64! ", 100_000) + `"}`)},
		"declarations": Opened{System: strings.Repeat("s", 100_000), Declarations: func() (all []Declaration) {
			for range 300 {
				all = append(all, Declaration{Name: "x", Description: strings.Repeat("d", 5000), Parameters: json.RawMessage(`{}`)})
			}
			return all
		}()},
	} {
		log, blobs := &Memory{}, &MemoryBlobs{}
		w := newTestWriter(log, blobs)
		e, err := w.Write("", d)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		line, err := appendLine(nil, e)
		if err != nil || len(line) > MaxLine || len(blobs.kept) == 0 {
			t.Errorf("%s: %d bytes, %d contents, %v", name, len(line), len(blobs.kept), err)
		}
		for text := range strings.SplitSeq(string(line), `"`) {
			if len(text) > MaxText {
				t.Errorf("%s: a text of %d bytes", name, len(text))
			}
		}
		got, err := Decode(e, blobs)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		a, _ := humanize.JSON(got)
		b, _ := humanize.JSON(d)
		if a, b := strings.Replace(string(a), `"turns":1,`, "", 1), string(b); a != b {
			t.Errorf("%s: changed: %.200s, want %.200s", name, a, b)
		}
		if _, err := Decode(e, &MemoryBlobs{}); err == nil {
			t.Errorf("%s: read without its contents", name)
		}
	}
}

// A journal that several processors decode gives the same state, and is cut at the first line that can't be read.
func TestLinesDecodedInParts(t *testing.T) {
	serial.Test(t)
	t.Parallel()
	s := Sessions{Home: t.TempDir()}
	f, err := s.Create(testID)
	if err != nil {
		t.Fatal(err)
	}
	w := newTestWriter(f, s.Store())
	benchWrite(t, w, Opened{ID: testID})
	for n := range 1300 {
		benchTurn(t, w, n+1)
	}
	benchWrite(t, w, Called{Call: testCall("x")}, Started{ID: "x", Name: "edit", Args: []byte(`{"a":1}`)}, finished("x", "[7]"))
	f.Close()
	path := filepath.Join(s.Dir(testID), journalName)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	view, state, err := s.View(testID)
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	want, err := Fold(view.Read(1), s.Store())
	if err != nil {
		t.Fatal(err)
	}
	if d := diffStates(state, want); d != "" {
		t.Fatal(d)
	}
	if c := state.Agent("").Calls; len(c) != 1 || string(c[0].Started.Args) != `{"a":1}` || c[0].Finished.Outcome.Result.Text() != "done" {
		t.Errorf("%+v", c)
	}
	places := soak.Count(4, 40)
	for n := range places {
		at := len(whole) * (n + 1) / (places + 1)
		at += bytes.IndexByte(whole[at:], '\n') + 1
		broken := bytes.Clone(whole)
		copy(broken[at:], "garbage")
		if err := os.WriteFile(path, broken, 0o600); err != nil {
			t.Fatal(err)
		}
		f, state, err := s.Open(testID)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		lines := int64(bytes.Count(whole[:at], []byte("\n")))
		if state.Seq != lines || f.Repair.Broken != lines+1 {
			t.Errorf("broken at %d: entry %d, line %d; want %d", at, state.Seq, f.Repair.Broken, lines)
		}
		if info, err := os.Stat(path); err != nil || info.Size() != int64(at) {
			t.Errorf("%d bytes are left, want %d", info.Size(), at)
		}
	}
}

// A line without a newline is one broken line of any length.
func TestEndlessLine(t *testing.T) {
	serial.Test(t)
	s := Sessions{Home: t.TempDir()}
	f := record(t, s, testID, "x", 1, Message{Message: model.Prompt("y")})
	f.Close()
	b, _ := os.ReadFile(f.Path())
	os.WriteFile(f.Path(), append(b, bytes.Repeat([]byte("x"), maxRead+5<<20)...), 0o600)
	f, state, err := s.Open(testID)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if state.Seq != 6 || f.Repair.Broken != 7 {
		t.Errorf("entry %d, %+v", state.Seq, f.Repair)
	}
	if info, _ := os.Stat(f.Path()); info.Size() != int64(len(b)) {
		t.Errorf("%d bytes are left, want %d", info.Size(), len(b))
	}
}
