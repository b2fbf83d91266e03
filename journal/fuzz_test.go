package journal

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/adze-dev/adze/internal/engine/humanize"
)

// Any file can be opened or is rejected; after opening it for writing, all of it can be read.
func FuzzOpen(f *testing.F) {
	opened := `{"v":1,"seq":1,"at":"2026-11-16T06:00:00Z","type":"session.opened","data":{"id":"x","cwd":"/"}}` + "\n"
	f.Add([]byte(opened))
	f.Add([]byte(opened + `{"v":1,"seq":2,"at":"2026-11-16T06:00:00Z","by":"a\"b","type":"message","data":{"message":{"role":"user","parts":[{"text":"hi"}]}}}` + "\n"))
	f.Add([]byte(opened + `{"v":1,"seq":2,"at":"2026-11-16T06:00:00Z","type":"compacted","data":{"messages":[]}}` + "\n" +
		`{"v":1,"seq":3,"at":"2026-11-16T06:00:00Z","type":"undone","data":{"to":1}}` + "\n"))
	f.Add([]byte(opened + `{"seq":2,"v":1,"type":"mode","data":{"mode":"plan"},"at":"2026-11-16T06:00:00Z"}` + "\n{"))
	f.Add([]byte(opened + `{"v":9,"seq":2,"at":"2026-11-16T06:00:00Z","type":"mode","data":[]}` + "\n"))
	f.Add([]byte("\n\n\x00"))
	f.Fuzz(func(t *testing.T, content []byte) {
		s := Sessions{Home: t.TempDir()}
		if err := os.MkdirAll(s.Dir(testID), 0o700); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(s.Dir(testID), journalName)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		s.List()
		file, state, err := s.Open(testID)
		if err != nil {
			return
		}
		defer file.Close()
		full, err := Fold(file.Read(1), s.Store())
		if err != nil {
			return // broken before the last compaction, or a content is missing
		}
		if full.Seq != state.Seq {
			t.Fatalf("opened after entry %d, but the last is %d", state.Seq, full.Seq)
		}
		if err := file.Append(Entry{V: 1, Seq: state.Seq + 1, Type: TypeMode, Data: []byte(`{}`)}); err != nil {
			t.Fatal(err)
		}
	})
}

// The scanner accepts all JSON, and reads strings as encoding/json does.
func FuzzRaw(f *testing.F) {
	for _, seed := range []string{`{"a":[1,true,null,-1.5e3,{"b":"\"\\\u00e9"}]}`, `"\ud83d\ude00\ud83d"`, `[]`, `{} `, `"a`, `"\u12"`, `{"a" : 1 , "b":2}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		if !json.Valid([]byte(raw)) {
			valueEnd([]byte(raw), 0, 0)
			text([]byte(raw))
			return
		}
		i := space([]byte(raw), 0)
		end, ok := valueEnd([]byte(raw), i, 0)
		if !ok || space([]byte(raw), end) != len(raw) {
			t.Fatalf("%s: the value ends at %d, %v", raw, end, ok)
		}
		if s := raw[i:end]; s[0] == '"' && utf8.ValidString(s) {
			var want string
			json.Unmarshal([]byte(s), &want)
			if got, ok := text([]byte(s)); !ok || got != want {
				t.Fatalf("%s: %q, want %q", s, got, want)
			}
		}
	})
}

// What is packed and unpacked is unchanged, apart from whitespace.
func FuzzPack(f *testing.F) {
	for _, seed := range []string{
		`{"a":{"blob":"sha256:00","bytes":1}}`, `{"mimeType":"x","data":"aGk="}`, `{"x":[{"mimeType":"x","data":"no"},{"blob":5}]}`,
		`{"blob":"x","mimeType":"y","data":"aGk="}`, `{"a":{"mimeType":1,"data":{"blob":"z"}}}`, `{"a":{"mimeType":1,"data":"aGk"}}`,
	} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	f.Fuzz(func(t *testing.T, raw string, masked bool) {
		if !json.Valid([]byte(raw)) {
			return
		}
		var mask func(string) string
		if masked {
			mask = func(s string) string { return s }
		}
		compact, err := humanize.JSON(json.RawMessage(raw))
		if err != nil {
			return
		}
		blobs := &MemoryBlobs{}
		packed, err := pack(compact, blobs, mask)
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid(packed) {
			t.Fatalf("%s became %s", compact, packed)
		}
		back, err := unpack(packed, blobs)
		if err != nil {
			t.Fatalf("%s: %v", packed, err)
		}
		if d := cmp.Diff(string(back), string(compact)); d != "" {
			t.Fatal(d)
		}
	})
}
