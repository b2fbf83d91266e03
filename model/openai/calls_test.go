package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/api"
	"github.com/google/go-cmp/cmp"
)

// Each row is a way in which some server sends the same or similar calls; the deltas are as they are on the wire.
func TestCallsAreAssembled(t *testing.T) {
	const two = `a read {"p":1} | b write {"p":2}`
	tests := []struct {
		name, deltas, want string
	}{
		{"as OpenAI does it", `
			{"index":0,"id":"a","function":{"name":"read","arguments":""}}
			{"index":0,"function":{"arguments":"{\"p\""}}
			{"index":0,"function":{"arguments":":1}"}}
			{"index":1,"id":"b","function":{"name":"write","arguments":""}}
			{"index":1,"function":{"arguments":"{\"p\":2}"}}`, two},
		{"interleaved", `
			{"index":0,"id":"a","function":{"name":"read","arguments":"{"}}
			{"index":1,"id":"b","function":{"name":"write","arguments":"{"}}
			{"index":0,"function":{"arguments":"\"p\":1}"}}
			{"index":1,"function":{"arguments":"\"p\":2}"}}`, two},
		{"no index", `
			{"id":"a","function":{"name":"read","arguments":"{\"p\":1}"}}
			{"id":"b","function":{"name":"write","arguments":"{\"p\":2}"}}`, two},
		{"no index, id in each piece", `
			{"id":"a","function":{"name":"read","arguments":"{\"p\""}}
			{"id":"a","function":{"arguments":":1}"}}
			{"id":"b","function":{"name":"write","arguments":"{\"p\":2}"}}`, two},
		{"no index, another id in each piece", `
			{"id":"a","function":{"name":"read","arguments":"{\"p\""}}
			{"id":"x","function":{"arguments":":1}"}}
			{"id":"b","function":{"name":"write","arguments":"{\"p\":2}"}}`, two},
		{"index 0 for all", `
			{"index":0,"id":"a","function":{"name":"read","arguments":"{\"p\":1}"}}
			{"index":0,"id":"b","function":{"name":"write","arguments":"{\"p\":"}}
			{"index":0,"function":{"arguments":"2}"}}`, two},
		{"index null, id null, name null in later pieces", `
			{"index":0,"id":"a","function":{"name":"read","arguments":"{\"p\""}}
			{"index":0,"id":null,"function":{"name":null,"arguments":":1}"}}
			{"index":null,"id":"b","function":{"name":"write","arguments":"{\"p\":2}"}}`, two},
		{"name in each piece", `
			{"index":0,"id":"a","function":{"name":"read","arguments":""}}
			{"index":0,"id":"a","function":{"name":"read","arguments":"{\"p\":"}}
			{"index":0,"id":"a","function":{"name":"read","arguments":"1}"}}
			{"index":1,"id":"b","function":{"name":"write","arguments":"{\"p\":2}"}}`, two},
		{"name in pieces", `
			{"index":0,"id":"a","function":{"name":"re","arguments":""}}
			{"index":0,"function":{"name":"ad","arguments":""}}
			{"index":0,"function":{"arguments":"{\"p\":1}"}}`, `a read {"p":1}`},
		{"arguments as an object", `
			{"index":0,"id":"a","function":{"name":"read","arguments":{"p":1}}}
			{"index":1,"id":"b","function":{"name":"write","arguments":{"p":2}}}`, two},
		{"all said once more at the end", `
			{"index":0,"id":"a","function":{"name":"read","arguments":"{\"p\":1}"}}
			{"index":1,"id":"b","function":{"name":"write","arguments":"{\"p\":2}"}}
			{"index":0,"id":"a","function":{"name":"read","arguments":"{\"p\": 1}"}}
			{"index":1,"id":"b","function":{"name":"write","arguments":""}}`, two},
		{"the same id for two calls", `
			{"index":0,"id":"c","function":{"name":"read","arguments":"{\"p\":1}"}}
			{"index":1,"id":"c","function":{"name":"write","arguments":"{\"p\":2}"}}`, `c read {"p":1} | c write {"p":2}`},
		{"the same id for two calls, no index", `
			{"id":"c","function":{"name":"read","arguments":"{\"p\":1}"}}
			{"id":"c","function":{"name":"read","arguments":"{\"p\":2}"}}`, `c read {"p":1} | c read {"p":2}`},
		{"neither index nor id", `
			{"function":{"name":"read","arguments":"{\"p\""}}
			{"function":{"arguments":":1}"}}
			{"function":{"name":"read","arguments":"{\"p\":2}"}}`, ` read {"p":1} |  read {"p":2}`},
		{"neither index nor id nor arguments", `
			{"function":{"name":"now"}}
			{"function":{"name":"now"}}
			{"function":{"name":"then"}}`, ` now {} |  now {} |  then {}`},
		{"no arguments", `
			{"index":0,"id":"a","function":{"name":"now"}}
			{"index":1,"id":"b","function":{"name":"now","arguments":null}}
			{"index":2,"id":"c","function":{"name":"now","arguments":" "}}`, `a now {} | b now {} | c now {}`},
		{"index 0 for all, no arguments", `
			{"index":0,"id":"a","function":{"name":"now","arguments":""}}
			{"index":0,"id":"b","function":{"name":"now","arguments":""}}`, `a now {} | b now {}`},
		{"an id that is a number, an index that is a string", `
			{"index":"0","id":7,"function":{"name":"read","arguments":"{\"p\":"}}
			{"index":"0","function":{"arguments":"1}"}}`, `7 read {"p":1}`},
		{"arguments that never become JSON", `
			{"index":0,"id":"a","function":{"name":"read","arguments":"{\"p\":1}}"}}
			{"index":1,"id":"b","function":{"name":"write","arguments":"p=2"}}`, `a read {"p":1}} | b write p=2`},
		{"a pair of surrogates cut in two", `
			{"index":0,"id":"a","function":{"name":"read","arguments":"{\"p\":\"\ud83d"}}
			{"index":0,"function":{"arguments":"\ude00\"}"}}`, `a read {"p":"😀"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := assemble(t, tt.deltas)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// Arguments with trailing commas arrive whole wherever a server cuts them, and are what the model wrote: the tool's
// schema repairs them and tells the model.
func TestTrailingCommaCutAnywhere(t *testing.T) {
	const args = `{"a":[1,2,],"b":"x,}, \"y\",]",}`
	quoted := func(s string) string {
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for i := range len(args) + 1 {
		got, err := assemble(t, `{"index":0,"id":"a","function":{"name":"read","arguments":`+quoted(args[:i])+`}}
			{"index":0,"function":{"arguments":`+quoted(args[i:])+`}}
			{"index":1,"id":"b","function":{"name":"read","arguments":"{}"}}`)
		if want := "a read " + args + " | b read {}"; err != nil || got != want {
			t.Errorf("cut at %d: %q, %v", i, got, err)
		}
	}
}

// A call that was emitted may be running: a server that then says something else about it is not believed.
func TestCallHandedOutIsNotChanged(t *testing.T) {
	_, err := assemble(t, `
		{"index":0,"id":"a","function":{"name":"read","arguments":"{\"p\":1}"}}
		{"index":1,"id":"b","function":{"name":"write","arguments":"{"}}
		{"index":0,"function":{"arguments":"x"}}`)
	if !errors.Is(err, model.ErrWire) {
		t.Errorf("got %v", err)
	}
}

func TestCallsAreHandedOutEarly(t *testing.T) {
	var c calls
	var got []string
	for _, d := range []string{
		`{"index":0,"id":"a","function":{"name":"read","arguments":"{}"}}`,
		`{"index":1,"id":"b","function":{"name":"read","arguments":"{"}}`,
		`{"index":2,"id":"c","function":{"name":"read","arguments":"{}"}}`,
		`{"index":1,"function":{"arguments":"}"}}`,
	} {
		if err := c.add(parseDelta(t, d)); err != nil {
			t.Fatal(err)
		}
		got = append(got, show(c.ready()))
	}
	got = append(got, show(c.rest()))
	want := []string{"", "a read {}", "", "b read {}", "c read {}"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("after each piece (-want +got):\n%s", d)
	}
}

func assemble(t *testing.T, deltas string) (string, error) {
	t.Helper()
	var c calls
	var out []model.Call
	for line := range strings.Lines(strings.TrimSpace(deltas)) {
		if err := c.add(parseDelta(t, line)); err != nil {
			return "", err
		}
		out = append(out, c.ready()...)
	}
	return show(append(out, c.rest()...)), nil
}

func parseDelta(t *testing.T, s string) callDelta {
	t.Helper()
	var d callDelta
	if err := json.Unmarshal([]byte(s), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func show(calls []model.Call) string {
	var out []string
	for _, c := range calls {
		out = append(out, fmt.Sprintf("%s %s %s", c.ID, c.Name, c.Args))
	}
	return strings.Join(out, " | ")
}

// FuzzCalls cuts the arguments of two calls anywhere, in each style of server, and wants what the whole would give.
func FuzzCalls(f *testing.F) {
	f.Add(`{"p":"a€😀"}`, `{"q":[1,{"r":"}"}]}`, []byte{1, 2, 1}, uint8(0))
	f.Add(`{}`, `not json`, []byte{1}, uint8(3))
	f.Add(``, `{"a":"\ud83d\ude00"}`, []byte{9, 1, 1}, uint8(1))
	f.Fuzz(func(t *testing.T, first, second string, cuts []byte, style uint8) {
		var c calls
		var got []model.Call
		for i, args := range []string{first, second} {
			for n, piece := range pieces(args, cuts) {
				if err := c.add(deltaOf(i, n, piece, style)); err != nil {
					t.Fatalf("%q, %q: %v", first, second, err)
				}
				got = append(got, c.ready()...)
			}
		}
		got = append(got, c.rest()...)
		want := fmt.Sprintf("id0 f0 %s | id1 f1 %s", said(first), said(second))
		if show(got) != want {
			t.Fatalf("style %d: want %s, got %s", style, want, show(got))
		}
	})
}

// deltaOf returns a piece as a server of some style sends it. Styles that cannot tell two calls apart unless the first is
// a whole object are in the table above.
func deltaOf(call, n int, piece string, style uint8) callDelta {
	var d callDelta
	if style&1 == 0 {
		d.Index = json.RawMessage(fmt.Sprint(call))
	}
	if n == 0 || style&1 != 0 || style&2 != 0 {
		d.ID = json.RawMessage(fmt.Sprintf(`"id%d"`, call))
	}
	if n == 0 {
		d.Function.Name = json.RawMessage(fmt.Sprintf(`"f%d"`, call))
	}
	d.Function.Arguments = rawQuote(piece)
	return d
}

// rawQuote writes a JSON string without minding half characters.
func rawQuote(s string) json.RawMessage {
	b := []byte{'"'}
	for i := range len(s) {
		if c := s[i]; c == '"' || c == '\\' || c < 0x20 {
			b = fmt.Appendf(b, `\u%04x`, c)
		} else {
			b = append(b, c)
		}
	}
	return append(b, '"')
}

func pieces(s string, cuts []byte) []string {
	var out []string
	for _, c := range cuts {
		n := min(int(c), len(s))
		out = append(out, s[:n])
		s = s[n:]
	}
	return append(out, s)
}

func said(args string) string {
	if strings.TrimSpace(args) == "" {
		return "{}"
	}
	return api.Clean([]byte(args))
}
