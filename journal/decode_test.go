package journal

import (
	"testing"

	"github.com/google/go-cmp/cmp"
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
