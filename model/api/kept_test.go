package api

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
	"pgregory.net/rapid"
)

// element is the encoding of a message in these tests, and counts how often it is written.
type element struct {
	text  string
	wrote *int
}

func (e element) JSON() ([]byte, error) {
	*e.wrote++
	return json.Marshal(e.text)
}

func entries(wrote *int, messages ...model.Message) []Entry {
	var out []Entry
	for _, m := range messages {
		out = append(out, Entry{From: m, Values: func() []any {
			if len(m.Parts) == 0 {
				return nil
			}
			return []any{element{m.Text(), wrote}}
		}})
	}
	return out
}

type object struct {
	System string `json:"system"`
	List   any    `json:"list"`
	Tools  string `json:"tools"`
}

type lastList struct {
	Tools json.RawMessage `json:"tools"`
	List  any             `json:"list"`
}

// Of a conversation that grew, only the new messages are written. Other conversations and other ways don't get its JSON.
func TestKept(t *testing.T) {
	var k Kept
	wrote := 0
	a, b, c, none := model.Prompt("a"), model.Prompt("b"), model.Prompt("c"), model.Message{Role: model.User}
	for i, tt := range []struct {
		key      string
		how      int
		messages []model.Message
		variant  uint64
		list     string
		writes   int
	}{
		{"x", 0, []model.Message{a, b}, 0, `["a","b"]`, 2},
		{"x", 0, []model.Message{a, b, none, c}, 0, `["a","b","c"]`, 1},
		{"y", 0, []model.Message{a, c}, 0, `["a","c"]`, 2},
		{"x", 0, []model.Message{a, b, none, c}, 0, `["a","b","c"]`, 0},
		{"x", 0, []model.Message{c, b}, 0, `["c","b"]`, 1},
		{"x", 1, []model.Message{c, b}, 0, `["c","b"]`, 2},
		{"x", 1, []model.Message{c, b}, 1, `["c","b"]`, 1},
		{"x", 1, nil, 0, `[]`, 0},
	} {
		wrote = 0
		list := entries(&wrote, tt.messages...)
		if len(list) > 0 {
			list[0].Variant = tt.variant
		}
		got, err := k.Object(object{System: `"list":null`, Tools: "t"}, "list", tt.key, tt.how, list)
		if want := `{"system":"\"list\":null","list":` + tt.list + `,"tools":"t"}`; err != nil || string(got) != want || wrote != tt.writes {
			t.Errorf("%d: %s with %d writes, %v", i, got, wrote, err)
		}
	}
	got, err := k.Object(lastList{Tools: json.RawMessage(`{"list":null}`)}, "list", "z", 0, entries(&wrote, a))
	if want := `{"tools":{"list":null},"list":["a"]}`; err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
	for i := range 10 {
		if _, err := k.Object(object{}, "list", fmt.Sprint(i), 0, entries(&wrote, a)); err != nil || len(k.lists) > maxKept {
			t.Errorf("%d conversations are kept, %v", len(k.lists), err)
		}
	}
}

// Messages count as the same only if all that can be written of them is.
func TestSameMessage(t *testing.T) {
	parts := func(t *rapid.T) []model.Part {
		var out []model.Part
		for range rapid.IntRange(0, 2).Draw(t, "parts") {
			s := rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "s")
			media := tool.Media{MIMEType: s, Data: []byte(rapid.SampledFrom([]string{"x", "y"}).Draw(t, "data"))}
			out = append(out, rapid.SampledFrom([]model.Part{
				model.Text(s), model.Thought(s), model.Call{Call: tool.Call{ID: s, Name: "n", Args: json.RawMessage(`{}`)}},
				model.Call{Call: tool.Call{ID: "i", Name: s, Args: json.RawMessage(`{"a":1}`)}}, model.Sealed{API: s, JSON: json.RawMessage(`1`)},
				model.Response{ID: s, Content: []tool.Part{tool.Text(s), media}}, model.Response{ID: "i", Name: s, IsError: true}, model.Media{Media: media},
			}).Draw(t, "part"))
		}
		return out
	}
	rapid.Check(t, func(t *rapid.T) {
		a := model.Message{Role: rapid.SampledFrom([]model.Role{model.User, model.Tool}).Draw(t, "role"), Parts: parts(t)}
		b := model.Message{Role: rapid.SampledFrom([]model.Role{model.User, model.Tool}).Draw(t, "role"), Parts: parts(t)}
		if got, want := same(a, b), written(a) == written(b); got != want {
			t.Fatalf("%v for %s and %s", got, written(a), written(b))
		}
	})
}

func written(m model.Message) string {
	b, err := json.Marshal(m)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(b))
}

// Further members are merged around the list, and may replace it.
func TestKeptMerges(t *testing.T) {
	var k Kept
	wrote := 0
	for members, want := range map[string]string{
		`{"a":1,"z":{"list":null}}`: `{"a":1,"list":["x"],"system":"","tools":"t","z":{"list":null}}`,
		`{"tools":"u"}`:             `{"list":["x"],"system":"","tools":"u"}`,
		`{"list":[]}`:               `{"list":[],"system":"","tools":"t"}`,
	} {
		var more map[string]json.RawMessage
		if err := json.Unmarshal([]byte(members), &more); err != nil {
			t.Fatal(err)
		}
		got, err := k.Object(object{Tools: "t"}, "list", "k", 0, entries(&wrote, model.Prompt("x")), nil, more)
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v", members, got, err)
		}
	}
}
