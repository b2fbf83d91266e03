package settings

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// boxing is what of settings concerns the sandbox.
type boxing struct {
	Mode, Backend string
	Write         []string
	Sockets       bool
}

func TestSandboxSettings(t *testing.T) {
	for _, c := range []struct {
		name     string
		files    map[string]string
		trusted  bool
		want     boxing
		withheld string
	}{
		{name: "nothing said", want: boxing{Mode: "auto", Backend: "built-in"}},
		{
			name:  "a person's own widen",
			files: map[string]string{"home/.adze": `{"tools":{"sandbox":"workspace","sandboxBackend":"bwrap","sandboxWrite":["~/cache","/dev/kvm"],"sandboxUnixSockets":true}}`},
			want:  boxing{"workspace", "bubblewrap", []string{"~/cache", "/dev/kvm"}, true},
		},
		{
			name: "a folder's tighten",
			files: map[string]string{
				"home/.adze": `{"tools":{"sandbox":"auto","sandboxUnixSockets":true}}`,
				"app/.adze":  `{"tools":{"sandbox":"read-only","sandboxUnixSockets":false}}`,
			},
			want: boxing{Mode: "read-only", Backend: "built-in"},
		},
		{
			name: "and do not widen",
			files: map[string]string{
				"home/.adze": `{"tools":{"sandbox":"workspace"}}`,
				"app/.adze":  `{"tools":{"sandbox":"auto","sandboxBackend":"bubblewrap","sandboxWrite":["/"],"sandboxUnixSockets":true,"env":["X=1"]}}`,
				"app/.qwen":  `{"tools":{"sandbox":"workspace+network"}}`,
			},
			want:     boxing{Mode: "workspace", Backend: "built-in"},
			withheld: "tools.sandbox tools.env tools.sandbox tools.sandboxBackend tools.sandboxWrite tools.sandboxUnixSockets",
		},
		{
			name:    "until it is trusted",
			files:   map[string]string{"app/.adze": `{"tools":{"sandbox":"off","sandboxWrite":["out"]}}`},
			trusted: true,
			want:    boxing{Mode: "off", Backend: "built-in", Write: []string{"out"}},
		},
		{
			name:  "what Qwen has is the box we have",
			files: map[string]string{"home/.qwen": `{"tools":{"sandbox":"registry.example/image"}}`},
			want:  boxing{Mode: "workspace", Backend: "built-in"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, src := place(t, c.files)
			src.Trusted = c.trusted
			s, err := Load(src)
			if err != nil {
				t.Fatal(err)
			}
			got := boxing{Mode: s.Tools.Sandbox, Backend: s.Tools.SandboxBackend, Sockets: s.Tools.SandboxUnixSockets}
			for _, e := range s.Tools.SandboxWrite {
				got.Write = append(got.Write, e.Text)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
			var withheld []string
			for _, w := range s.Withheld() {
				withheld = append(withheld, w.Key)
			}
			if d := cmp.Diff(c.withheld, strings.Join(withheld, " ")); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestSandboxSettingErrors(t *testing.T) {
	for text, want := range map[string]string{
		`{"tools":{"sandbox":"tight"}}`:             "tools.sandbox has the invalid value \"tight\"\nExpected one of: off, auto, workspace+network, workspace, read-only",
		`{"tools":{"sandboxBackend":"docker"}}`:     `tools.sandboxBackend must be built-in or bubblewrap, got "docker"`,
		`{"tools":{"sandboxBackend":1}}`:            "tools.sandboxBackend must be a string, got 1",
		`{"tools":{"sandboxWrite":"/"}}`:            `tools.sandboxWrite must be a list of strings, got "/"`,
		`{"tools":{"sandboxUnixSockets":"please"}}`: `tools.sandboxUnixSockets must be true or false, got "please"`,

		`{"tools":{"afterChange":{}}}`:                                         `tools.afterChange must be a list of {"glob": …, "run": […]}, got an object`,
		`{"tools":{"afterChange":[{"glob":"*.go","run":"gofmt"}]}}`:            `["gofmt", "-w", "{files}"]}`,
		`{"tools":{"afterChange":[{"glob":"*.go","run":["x"],"shell":true}]}}`: `["gofmt", "-w", "{files}"]}`,
		`{"tools":{"afterChange":[{"glob":"","run":["x"]}]}}`:                  `entry 1: glob is not a valid pattern: ""`,
		`{"tools":{"afterChange":[{"glob":"*.go","run":[]}]}}`:                 "entry 1: run must begin with a program",
		`{"tools":{"afterChange":[{"glob":"*.go","run":["{files}"]}]}}`:        "entry 1: run must begin with a program",
		`{"tools":{"afterChange":[{"glob":"*.go","run":["x","-f={files}"]}]}}`: `{files} must be a separate argument, got "-f={files}"`,
		`{"tools":{"afterChange":[{"glob":"*.go","run":["x"],"timeout":0}]}}`:  "timeout must be a number of milliseconds from 1 to 3600000",
	} {
		_, src := place(t, map[string]string{"home/.adze": text})
		if _, err := Load(src); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
