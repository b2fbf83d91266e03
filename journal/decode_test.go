package journal

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// The fast decoder and encoding/json read the same.
func TestDecodeAgrees(t *testing.T) {
	var memory Memory
	blobs := &MemoryBlobs{}
	g := newGenerator(3)
	g.fill(t, newTestWriter(&memory, blobs), 300)
	fast := 0
	for e := range memory.Read(1) {
		raw, err := unpack(e.Data, blobs)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decode(e.Type, raw)
		if err != nil {
			t.Fatal(err)
		}
		want, err := decodeSlowly(e.Type, raw)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(got, want, sameState); d != "" {
			t.Fatalf("%s %s: %s", e.Type, e.Data, d)
		}
		if e.Type == TypeResponses {
			d := decoder{b: raw}
			if d.responses(); !d.failed {
				fast++
			}
		}
	}
	if fast == 0 {
		t.Error("the fast decoder read no responses")
	}
}

// The fast encoder and encoding/json write the same.
func TestEncodeAgrees(t *testing.T) {
	g := newGenerator(4)
	all := []Data{
		Message{}, Called{}, Finished{}, Answer{}, Responses{}, Compacted{},
		Finished{Outcome: Outcome{Error: &Failure{Message: "<x>"}, Result: tool.Result{Display: tool.Plan{Text: "<p>"}}}},
		Finished{Outcome: Outcome{Result: tool.Result{Display: tool.FileDiff{Stat: &tool.DiffStat{}, Warnings: []string{"w"}, Original: new(string)}}}},
		Finished{Outcome: Outcome{Result: tool.Result{Display: tool.Literal("l"), Content: []tool.Part{tool.Media{}}}}},
		Responses{Message: model.Message{Parts: []model.Part{model.Response{IsError: true}, model.Media{}, model.Sealed{JSON: json.RawMessage("\xff")}}}},
		Answer{Error: "e", Message: model.Message{Role: "r", Parts: []model.Part{model.Text("")}}},
	}
	for range 300 {
		_, more := g.next()
		all = append(all, more...)
	}
	for _, d := range all {
		got, err := encode(d)
		if err != nil {
			t.Fatal(err)
		}
		want, err := marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Fatalf("%T:\n%s\nwant\n%s", d, got, want)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add("a\"\\\n\t\r\b\f\x00\x7f<>&\u2028\u2029\xff\ufffd😀")
	f.Fuzz(func(t *testing.T, s string) {
		var e encoder
		e.text(s)
		want, err := quote(s)
		if err != nil || string(e.b) != string(want) {
			t.Fatalf("%s, want %s (%v)", e.b, want, err)
		}
	})
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"turn":1,"message":{"role":"tool","parts":[{"response":{"id":"a","name":"b","result":{"llmContent":["x",{"inlineData":{"mimeType":"a","data":"aGk="}}]},"isError":true}}]}}`,
		`{"message":{"role":"user","parts":[{"text":"\ud83d\ude00 \u0000"},{"media":{"mimeType":"","data":""}},{"call":{"id":"","name":"","said":"x"}}]}}`,
		`{"id":"a","outcome":{"name":"n","status":"success","result":{"llmContent":"","returnDisplay":{"fileDiff":"","originalContent":null}},"ms":1}}`,
		`{"messages":null}`, `{"message":{"parts":[{}]}}`, `{"turn":1e2}`, `[`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		for _, kind := range []Type{TypeMessage, TypeCalled, TypeFinished, TypeAnswer, TypeResponses, TypeCompacted} {
			data, err := decodeSlowly(kind, []byte(raw))
			if err != nil {
				continue
			}
			raw, err := marshal(data) // as this package writes it
			if err != nil {
				continue
			}
			want, err := decodeSlowly(kind, raw)
			if err != nil {
				t.Fatal(err)
			}
			got, err := decode(kind, raw)
			if err != nil {
				t.Fatalf("%s %s: %v", kind, raw, err)
			}
			if d := cmp.Diff(got, want, sameState); d != "" {
				t.Fatalf("%s %s: %s", kind, raw, d)
			}
		}
	})
}
