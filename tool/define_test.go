package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/adze-dev/adze/tool"
)

type spot struct {
	Line int    `json:"line" alias:"row" minimum:"1"`
	Text string `json:"text,omitempty"`
}

// allArgs has every tag and every type that a schema can be made of.
type allArgs struct {
	Path    string   `json:"file_path" description:"The \"file\" <to> read." alias:"path,filename" minLength:"1" maxLength:"20"`
	Mode    string   `json:"mode,omitempty" enum:"fast,slow" default:"fast"`
	Limit   int      `json:"limit,omitempty" minimum:"1" maximum:"9" default:"3"`
	Big     int64    `json:"big,omitempty"`
	Ratio   float64  `json:"ratio,omitempty" minimum:"-0.5"`
	All     bool     `json:"all,omitempty" default:"true"`
	Names   []string `json:"names,omitempty" minItems:"1" maxItems:"3"`
	Lines   []int    `json:"lines,omitempty"`
	At      spot     `json:"at,omitzero" description:"Where."`
	Spots   []spot   `json:"spots,omitempty"`
	Pointer *int     `json:"pointer,omitempty"`
	Not     string   `json:"-"`
	hidden  string
}

// defined is a tool that gives back its arguments as JSON.
func definedTool(t *testing.T) tool.Tool {
	return tool.Define(tool.Def[allArgs]{
		Name: "all", Description: "Takes everything.", Kind: tool.Think,
		Prepare: func(_ context.Context, a allArgs) (*tool.Invocation, error) {
			if a.hidden != "" {
				t.Error("a field that is not exported was filled")
			}
			raw, err := json.Marshal(a)
			return &tool.Invocation{Description: string(raw), Access: []tool.Access{tool.Nothing}}, err
		},
	})
}

func TestDefineSchema(t *testing.T) {
	want, err := os.ReadFile("testdata/schema.golden.json")
	if err != nil {
		t.Fatal(err)
	}
	wantSame(t, "schema", strings.TrimSpace(string(want)), string(definedTool(t).Declaration().Parameters))
}

func TestRepair(t *testing.T) {
	for name, tt := range map[string]struct {
		in    string
		want  string // of the arguments beside the defaults
		notes []string
	}{
		"as it should be":           {`{"limit":5,"all":false}`, `"limit":5,"all":false`, nil},
		"true as a string":          {`{"all":"false"}`, `"all":false`, []string{`all was the string "false"; read as false`}},
		"True as a string":          {`{"all":" True "}`, `"all":true`, []string{`all was the string " True "; read as true`}},
		"a number as a string":      {`{"limit":"5"}`, `"limit":5`, []string{`limit was the string "5"; read as 5`}},
		"a fraction as a string":    {`{"ratio":"-0.25"}`, `"ratio":-0.25`, []string{`ratio was the string "-0.25"; read as -0.25`}},
		"a whole number as 5.0":     {`{"limit":5.0,"lines":[1e2]}`, `"limit":5,"lines":[100]`, nil},
		"5.0 as a string":           {`{"limit":"5.0"}`, `"limit":5`, []string{`limit was the string "5.0"; read as 5`}},
		"a number for a string":     {`{"file_path":12}`, `"file_path":"12"`, []string{`file_path was 12; read as the string "12"`}},
		"a boolean for a string":    {`{"file_path":true}`, `"file_path":"true"`, []string{`file_path was true; read as the string "true"`}},
		"an object as a string":     {`{"at":"{\"line\":2}"}`, `"at":{"line":2}`, []string{`at was the string "{\"line\":2}"; read as an object`}},
		"an array as a string":      {`{"names":"[\"a\",\"b\"]"}`, `"names":["a","b"]`, []string{`names was the string "[\"a\",\"b\"]"; read as an array`}},
		"one for an array":          {`{"names":"a"}`, `"names":["a"]`, []string{`names was a single value; read as an array with one item`}},
		"one as a string, too":      {`{"lines":"7"}`, `"lines":[7]`, []string{`lines was a single value; read as an array with one item`}},
		"an object for an array":    {`{"spots":{"line":2}}`, `"spots":[{"line":2}]`, []string{`spots was a single value; read as an array with one item`}},
		"deep inside":               {`{"spots":[{"line":"2"},{"line":3,"text":4}]}`, `"spots":[{"line":2},{"line":3,"text":"4"}]`, []string{`spots[0].line was the string "2"; read as 2`, `spots[1].text was 4; read as the string "4"`}},
		"null is absent":            {`{"mode":null,"limit":null,"at":null,"names":null}`, ``, nil},
		"an alias":                  {`{"file_path":null,"path":"x"}`, `"file_path":"x"`, []string{`file_path was given as path`}},
		"an alias, and null":        {`{"file_path":"p","filename":null}`, ``, nil},
		"an alias inside":           {`{"spots":[{"row":2}]}`, `"spots":[{"line":2}]`, []string{`spots[0].line was given as row`}},
		"all arguments in a string": {`"{\"limit\":\"5\",\"file_path\":\"p\"}"`, `"limit":5`, []string{`the argument object was the string "{\"limit\":\"5\",\"file_path\":\"p\"}"; read as an object`, `limit was the string "5"; read as 5`}},
		"trailing commas":           {`{"names":["a,]", "b" , ] , "at":{"line":2,},"limit":5,` + "\n" + `}`, `"names":["a,]","b"],"at":{"line":2},"limit":5`, []string{`the argument object had trailing commas, which are not valid JSON. They were removed.`}},
		"a comma at the end":        {`{"limit":5},`, `"limit":5`, []string{`the argument object had trailing commas, which are not valid JSON. They were removed.`}},
		"trailing commas inside":    {`{"at":"{\"line\":2,}"}`, `"at":{"line":2}`, []string{`at was the string "{\"line\":2,}"; read as an object`}},
		"a long string":             {`{"at":"{\"line\":1,\"text\":\"` + strings.Repeat("x", 100) + `\"}"}`, `"at":{"line":1,"text":"` + strings.Repeat("x", 100) + `"}`, []string{`at was the string "{\"line\":1,\"text\":\"` + strings.Repeat("x", 36) + `… (68 more characters); read as an object`}},
	} {
		t.Run(name, func(t *testing.T) {
			in := tt.in
			if !strings.Contains(in, "file_path") && in[0] == '{' {
				in = `{"file_path":"p",` + in[1:]
			}
			inv, err := definedTool(t).Prepare(t.Context(), json.RawMessage(in))
			if err != nil {
				t.Fatal(err)
			}
			want := allArgs{Path: "p", Mode: "fast", Limit: 3, All: true}
			if err := json.Unmarshal([]byte("{"+tt.want+"}"), &want); err != nil {
				t.Fatal(err)
			}
			raw, _ := json.Marshal(want)
			wantSame(t, "arguments", string(raw), inv.Description)
			wantSame(t, "notes", tt.notes, inv.Notes)
		})
	}
}

func TestViolations(t *testing.T) {
	for in, want := range map[string]string{
		`{}`:                 "all: file_path: is required (a string)",
		``:                   "all: file_path: is required (a string)",
		`{"file_path":null}`: "all: file_path: expected a string, got null",
		`{"file_path":"","mode":"medium","limit":0,"big":1.5,"ratio":"lots","names":[],"lines":["x",2,null],"at":{"line":0,"txt":1},"spots":[3]}`: `all: 11 invalid parameters:
- file_path: must not be empty
- mode: expected one of "fast", "slow", got "medium"
- limit: must be at least 1, got 0
- big: expected an integer, got 1.5
- ratio: expected a number, got "lots"
- names: must have at least 1 item, got 0
- lines[0]: expected an integer, got "x"
- lines[2]: expected an integer, got null
- at.line: must be at least 1, got 0
- at.txt: unknown parameter. Did you mean "text"?
- spots[0]: expected an object, got 3`,
		`{"file_path":"` + strings.Repeat("x", 21) + `","limit":10,"names":["a","b","c","d"]}`: `all: 3 invalid parameters:
- file_path: must have at most 20 characters, got 21
- limit: must be at most 9, got 10
- names: must have at most 3 items, got 4`,
		`{"file_path":"p","filepath":"q","zzz":1}`: `all: 2 invalid parameters:
- filepath: unknown parameter. Did you mean "file_path"?
- zzz: unknown parameter (expected file_path, mode, limit, big, ratio, all, names, lines, at, spots, pointer)`,
		`{"file_path":"p","path":"q"}`:                                "all: path: is an alias of file_path, which is also given. Pass only one of them.",
		`{"path":"p","filename":"q"}`:                                 "all: filename: is an alias of file_path, which is also given. Pass only one of them.",
		`{"file_path":"p","all":"yes"}`:                               `all: all: expected a boolean, got "yes"`,
		`{"file_path":["p"]}`:                                         "all: file_path: expected a string, got an array",
		`{"file_path":"p","pointer":99999999999999999999,"big":1e30}`: "all: big: invalid number 1000000000000000000000000000000 (expected int64)",
		`[1]`:                  "all: expected an object, got an array",
		`"x"`:                  `all: expected an object, got "x"`,
		`{"file_path":`:        "all: the arguments are not valid JSON: unexpected end (possibly truncated)\nSend one JSON object.",
		`{"file_path":"p"} {}`: "all: the arguments are not valid JSON: unexpected text after the first value\nSend one JSON object.",
		`{"file_path":"p",,}`:  "all: the arguments are not valid JSON: invalid character ',' looking for beginning of object key string\nSend one JSON object.",
		`{,}`:                  "all: the arguments are not valid JSON: invalid character ',' looking for beginning of object key string\nSend one JSON object.",
		`{"file_path":"p",`:    "all: the arguments are not valid JSON: unexpected end (possibly truncated)\nSend one JSON object.",
		`{file_path}`:          "all: the arguments are not valid JSON: invalid character 'f' looking for beginning of object key string\nSend one JSON object.",
	} {
		_, err := definedTool(t).Prepare(t.Context(), json.RawMessage(in))
		var params *tool.ParamError
		if !errors.As(err, &params) {
			t.Errorf("%s: %v, not a ParamError", in, err)
			continue
		}
		wantSame(t, in, want, err.Error())
	}
}

func TestRepairStaysQuietAboutNothing(t *testing.T) {
	w := newWorld(nil)
	noted := tool.Define(tool.Def[allArgs]{Name: "all", Description: "x", Kind: tool.Think, Prepare: func(context.Context, allArgs) (*tool.Invocation, error) {
		return &tool.Invocation{Access: []tool.Access{tool.Nothing}, Notes: []string{"the tool's own"}, Run: w.runs("all")}, nil
	}})
	b := w.executor(noted).Batch(t.Context())
	b.Add(tool.Call{Name: "all", Args: json.RawMessage(`{"path":"p","all":"true"}`)})
	wantSame(t, "outcome", []string{
		"success: all\nNote: file_path was given as path\nNote: all was the string \"true\"; read as true\nNote: the tool's own",
	}, says(b.Wait()))
}

// A tool is found by a name that a model has decorated, runs once, and the result has the right name.
func TestDecoratedNames(t *testing.T) {
	w := newWorld(nil)
	d := definedTool(t).Declaration()
	reader := tool.Define(tool.Def[struct{}]{Name: "read_file", Description: "x", Kind: tool.Think, Aliases: []string{"Read"}, Prepare: func(context.Context, struct{}) (*tool.Invocation, error) {
		return &tool.Invocation{Access: []tool.Access{tool.Nothing}, Run: w.runs("read")}, nil
	}})
	exact := tool.Define(tool.Def[struct{}]{Name: "functions.odd", Description: "x", Kind: tool.Think, Prepare: func(context.Context, struct{}) (*tool.Invocation, error) {
		return &tool.Invocation{Access: []tool.Access{tool.Nothing}, Run: w.runs("odd")}, nil
	}})
	x := w.executor(reader, exact, definedTool(t))
	for name, want := range map[string]string{
		"read_file":             "success: read",
		"Read":                  "success: read",
		"functions.read_file":   `success: read` + "\n" + `Note: the tool was called as "functions.read_file"; its name is read_file`,
		"functions.read_file:0": `success: read` + "\n" + `Note: the tool was called as "functions.read_file:0"; its name is read_file`,
		"read_file:12":          `success: read` + "\n" + `Note: the tool was called as "read_file:12"; its name is read_file`,
		"functions.Read":        `success: read` + "\n" + `Note: the tool was called as "functions.Read"; its name is read_file`,
		"functions.odd":         "success: odd",
	} {
		b := x.Batch(t.Context())
		b.Add(tool.Call{Name: name, Args: json.RawMessage(`{}`)})
		wantSame(t, name, []string{want}, says(b.Wait()))
	}
	for _, name := range []string{"functions.", "functions.write_file", "read_file:", "read_file:x", "functions.functions.read_file", ":0"} {
		if found, err := x.Registry.Lookup(name); err == nil {
			t.Errorf("%q is found as %s", name, found.Declaration().Name)
		}
	}
	if !d.Named("all") || d.Named("functions.all") {
		t.Error("Named takes a decorated name for the tool's own")
	}
}

func TestDefinePanicsOnMistakes(t *testing.T) {
	for want, define := range map[string]func(){
		"the arguments are string, not a struct": func() { define[string]() },
		"field A has no json name":               func() { define[struct{ A string }]() },
		"field A: type chan int has no schema": func() {
			define[struct {
				A chan int `json:"a"`
			}]()
		},
		`minimum "x" is not a number`: func() {
			define[struct {
				A int `json:"a" minimum:"x"`
			}]()
		},
		"default x is not valid JSON": func() {
			define[struct {
				A int `json:"a" default:"x"`
			}]()
		},
		"enum applies to strings": func() {
			define[struct {
				A []string `json:"a" enum:"x,y"`
			}]()
		},
		"Name, Description and Prepare are required": func() { tool.Define(tool.Def[struct{}]{Name: "x"}) },
	} {
		t.Run(want, func(t *testing.T) {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, want) {
					t.Errorf("panics with %s", got)
				}
			}()
			define()
		})
	}
}

func define[A any]() {
	tool.Define(tool.Def[A]{Name: "x", Description: "x", Prepare: func(context.Context, A) (*tool.Invocation, error) { return nil, nil }})
}
