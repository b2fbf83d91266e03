package journal

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adze-dev/adze/internal/dev/serial"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// standardDecode decodes with encoding/json.
func standardDecode(t Type, raw []byte) (Data, error) {
	v := reflect.New(entryForms()[t].t)
	err := json.Unmarshal(raw, v.Interface())
	return v.Elem().Interface().(Data), err
}

// The decoder and encoding/json read the same.
func TestDecodeAgrees(t *testing.T) {
	serial.Test(t)
	var memory Memory
	blobs := &MemoryBlobs{}
	g := newGenerator(3)
	g.fill(t, newTestWriter(&memory, blobs), 300)
	for e := range memory.Read(1) {
		raw, err := unpack(e.Data, blobs)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decode(e.Type, raw)
		if err != nil {
			t.Fatal(err)
		}
		want, err := standardDecode(e.Type, raw)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(got, want, sameState); d != "" {
			t.Fatalf("%s %s: %s", e.Type, e.Data, d)
		}
	}
}

// The encoder and encoding/json write the same.
func TestEncodeAgrees(t *testing.T) {
	serial.Test(t)
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
	all = append(all, &Mode{Mode: "a pointer"})
	for _, d := range all {
		got, err := encode(d)
		if err != nil {
			t.Fatal(err)
		}
		want, err := humanize.JSON(d)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Fatalf("%T:\n%s\nwant\n%s", d, got, want)
		}
	}
}

// Members that this version doesn't know are written again, at any level.
func TestUnknownMembers(t *testing.T) {
	for kind, raw := range map[Type]string{
		TypeMode:   `{"mode":"plan","later":{"a": [1, "\u00e9"]},"more":null}`,
		TypeOpened: `{"id":"a","cwd":"/","parent":{"id":"b","seq":1,"later":1},"declarations":[{"name":"x","later":1}],"later":1}`,
		TypeCompacted: `{"snapshot":{"calls":[{"seq":1,"call":{"id":"","name":""},"started":{"id":"a","name":"b","decision":{"verdict":"",` +
			`"cause":{"kind":""},"later":1},"later":2},"later":3}],"usage":{"input":0,"output":0},"later":4},"messages":[],"later":5}`,
		TypeFinished: `{"id":"a","outcome":{"name":"","status":"","result":{"llmContent":""},"error":{"type":"","message":"","later":1},"ms":0,` +
			`"later":2},"seen":[{"path":"/","later":3}],"changes":[{"path":"","later":4}],"jobs":[{"id":"","command":"","later":5}],"later":6}`,
	} {
		data, err := decode(kind, []byte(raw))
		if err != nil {
			t.Fatal(kind, err)
		}
		got, err := encode(data)
		if err != nil || string(got) != raw {
			t.Errorf("%s: %s, want %s (%v)", kind, got, raw, err)
		}
	}
	data, err := decode(TypeResumed, []byte(`{"later":1}`))
	if got, _ := encode(data); err != nil || string(got) != `{"later":1}` {
		t.Errorf("%s %v", got, err)
	}
}

// A value of another type is an error that says where.
func TestDecodeErrors(t *testing.T) {
	for raw, want := range map[string]string{
		`{"turn":"1"}`: "byte 8: not an integer", `{"turn":99999999999999999999}`: "byte 8: not an integer", `{"model":5}`: "byte 9: not a string",
		`{"turn":1} x`: "byte 11: more than one value", `{"turn":1`: "byte 9: no comma", `{"model":"\x"}`: "byte 9: not a string", `[]`: "byte 0: no {",
		`{"message":{"parts":[{}]}}`: "byte 23: an unknown part of a message before it", `{"usage":[]}`: "byte 9: no {", ``: "byte 0: no {",
	} {
		if data, err := decode(TypeAnswer, []byte(raw)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v; want %s", raw, data, err, want)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add("a\"\\\n\t\r\b\f\x00\x7f<>&\u2028\u2029\xff\ufffd😀")
	f.Fuzz(func(t *testing.T, s string) {
		got := appendText(nil, s)
		want, err := humanize.JSON(s)
		if err != nil || string(got) != string(want) {
			t.Fatalf("%s, want %s (%v)", got, want, err)
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
			data, err := standardDecode(kind, []byte(raw))
			if err != nil {
				continue
			}
			raw, err := humanize.JSON(data) // as this package writes it
			if err != nil {
				continue
			}
			want, err := standardDecode(kind, raw)
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
