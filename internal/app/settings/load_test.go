package settings

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// place writes files below a new directory and returns sources that read them: home/.qwen, home/.adze, app/.qwen and
// app/.adze are the four layers.
func place(t *testing.T, files map[string]string) (dir string, src Sources) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name, "settings.json")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir, Sources{
		UserHome: filepath.Join(dir, "home"),
		AdzeHome: filepath.Join(dir, "home", ".adze"),
		Project:  filepath.Join(dir, "app"),
	}
}

// summary is what a test looks at: values, then notes, unknown keys and the error without the directory's name.
type summary struct {
	Mode, Model      string
	Threshold        int
	Allow, Ask, Deny []string
	Exclude          []string
	Notes, Unknown   []string
	Err              string
}

func summarize(dir string, s *Settings, err error) summary {
	short := func(s string) string {
		return filepath.ToSlash(strings.ReplaceAll(s, dir+string(filepath.Separator), ""))
	}
	if err != nil {
		return summary{Err: short(err.Error())}
	}
	out := summary{Mode: s.Tools.ApprovalMode, Model: s.Model.Name, Threshold: s.Tools.OutputThreshold}
	texts := func(es []Entry) (list []string) {
		for _, e := range es {
			list = append(list, e.Text+" from "+short(e.From.String()))
		}
		return list
	}
	out.Exclude = texts(s.Tools.Exclude)
	out.Allow, out.Ask, out.Deny = texts(s.Permissions.Allow), texts(s.Permissions.Ask), texts(s.Permissions.Deny)
	for _, n := range s.Notes() {
		out.Notes = append(out.Notes, short(n.String()))
	}
	for _, u := range s.Unknown() {
		out.Unknown = append(out.Unknown, short(u.From.String())+" "+u.Key+" = "+u.JSON)
	}
	return out
}

const ignored = " ignored (untrusted project; run adze trust)"

var loadTests = []struct {
	name  string
	files map[string]string
	edit  func(*Sources)
	want  summary
}{
	{name: "nothing anywhere", want: summary{Mode: "default", Threshold: 25000}},
	{
		name: "later files win, key by key",
		files: map[string]string{
			"home/.qwen": `{"model":{"name":"a"},"tools":{"approvalMode":"plan","truncateToolOutputThreshold":1}}`,
			"home/.adze": `{"tools":{"approvalMode":"yolo"}}`,
			"app/.qwen":  `{"model":{"name":"c"}}`,
			"app/.adze":  `{"tools":{"truncateToolOutputThreshold":-1}}`,
		},
		edit: func(s *Sources) { s.Trusted = true },
		want: summary{Mode: "yolo", Model: "c", Threshold: -1},
	},
	{
		name:  "environment, then flags",
		files: map[string]string{"home/.adze": `{"model":{"name":"file"},"tools":{"approvalMode":"plan"}}`},
		edit: func(s *Sources) {
			s.Getenv = func(name string) string {
				return map[string]string{"OPENAI_MODEL": "openai", "QWEN_MODEL": "qwen"}[name]
			}
			s.Flags = []Flag{
				{Name: "--yolo", Key: "tools.approvalMode", Value: "yolo"}, {Name: "--deny", Key: "permissions.deny", Value: "Shell(rm)"},
				{Name: "--threshold", Key: "tools.truncateToolOutputThreshold", Value: "7"},
			}
		},
		want: summary{Mode: "yolo", Model: "qwen", Threshold: 7, Deny: []string{"Shell(rm) from --deny"}},
	},
	{
		name: "an untrusted folder only tightens",
		files: map[string]string{
			"home/.adze": `{"permissions":{"deny":["a"],"allow":["b"]}}`,
			"app/.qwen":  `{"tools":{"approvalMode":"auto-edit"},"permissions":{"allow":["c"],"ask":["d"],"deny":["e"]}}`,
			"app/.adze":  "{\"model\":{\"name\":\"evil\"},\n\"tools\":{\"approvalMode\":\"plan\",\"truncateToolOutputThreshold\":0}}",
		},
		want: summary{
			Mode: "plan", Threshold: 25000,
			Allow: []string{"b from home/.adze/settings.json:1:39"},
			Ask:   []string{"d from app/.qwen/settings.json:1:75"},
			Deny:  []string{"a from home/.adze/settings.json:1:25", "e from app/.qwen/settings.json:1:88"},
			Notes: []string{
				"app/.qwen/settings.json:1:26: tools.approvalMode" + ignored,
				"app/.qwen/settings.json:1:62: permissions.allow" + ignored,
				"app/.adze/settings.json:2:62: tools.truncateToolOutputThreshold" + ignored,
				"app/.adze/settings.json:1:18: model.name" + ignored,
			},
		},
	},
	{
		name: "an untrusted folder tightens what the person loosened, and a flag has the last word",
		files: map[string]string{
			"home/.adze": `{"tools":{"approvalMode":"yolo"}}`,
			"app/.adze":  `{"tools":{"approvalMode":"auto-edit"}}`,
		},
		want: summary{Mode: "auto-edit", Threshold: 25000},
	},
	{
		name: "Qwen's old spellings, and values Adze does not have",
		files: map[string]string{
			"home/.qwen": "{\n \"$version\": 1, \"approvalMode\": \"auto\", \"model\": \"m\", \"truncateToolOutputThreshold\": 5,\n" +
				" \"excludeTools\": [\"x\"], \"allowedTools\": [\"y\"], \"tools\": {\"exclude\": [\"z\"]}, \"ui\": {\"fonts\": \"q\"}}",
			"app/.qwen": `{"tools":{"approvalMode":"turbo"}}`,
		},
		want: summary{
			Mode: "default", Model: "m", Threshold: 5,
			Allow:   []string{"y from home/.qwen/settings.json:3:42"},
			Exclude: []string{"x from home/.qwen/settings.json:3:19", "z from home/.qwen/settings.json:3:70"},
			Notes: []string{
				`home/.qwen/settings.json:2:33: tools.approvalMode "auto" is not supported; using auto-edit, the nearest stricter mode`,
				`app/.qwen/settings.json:1:26: tools.approvalMode "turbo" is not supported; using default`,
			},
			Unknown: []string{`home/.qwen/settings.json:3:84 ui.fonts = "q"`},
		},
	},
	{
		name: "other spellings of auto-edit; the new name wins over the old",
		files: map[string]string{
			"home/.qwen": `{"tools":{"approvalMode":"auto_edit"}}`,
			"home/.adze": `{"tools":{"approvalMode":"autoEdit"},"approvalMode":"plan"}`,
		},
		want: summary{Mode: "auto-edit", Threshold: 25000},
	},
	{
		name: "a key that stands twice hides no rule",
		files: map[string]string{
			"home/.adze": `{"permissions":{"deny":["a"]},"permissions":{"deny":["b"],"deny":["c"]}}`,
		},
		want: summary{Mode: "default", Threshold: 25000, Deny: []string{
			"a from home/.adze/settings.json:1:25", "b from home/.adze/settings.json:1:54", "c from home/.adze/settings.json:1:67",
		}},
	},
	{
		name: "comments, trailing commas, a byte order mark, null",
		files: map[string]string{
			"home/.adze": "\uFEFF// mine\n{\"tools\": {\"approvalMode\": \"plan\", /* not \"yolo\" */},\n\"model\": null, \"permissions\": {\"deny\": [\"// no comment\",],},}",
		},
		want: summary{Mode: "plan", Threshold: 25000, Deny: []string{"// no comment from home/.adze/settings.json:3:41"}},
	},
	{
		name:  "empty files",
		files: map[string]string{"home/.adze": "", "home/.qwen": "// nothing yet\n", "app/.adze": "{}"},
		want:  summary{Mode: "default", Threshold: 25000},
	},
	{
		name:  "unknown keys are listed",
		files: map[string]string{"home/.adze": "{\"tools\":{\"aproval\":1,\n\"approvalMode\":\"plan\"},\"tools.approvalMode\":\"yolo\",\"\":[2]}"},
		want: summary{Mode: "plan", Threshold: 25000, Unknown: []string{
			`home/.adze/settings.json:1:11 tools.aproval = 1`,
			`home/.adze/settings.json:2:24 tools.approvalMode = "yolo"`,
			`home/.adze/settings.json:2:52  = [2]`,
		}},
	},
	{
		name:  "started in the home folder, the files are the person's own and count once",
		files: map[string]string{"home/.adze": `{"tools":{"approvalMode":"yolo"},"permissions":{"deny":["a"]}}`},
		edit:  func(s *Sources) { s.Project = s.UserHome },
		want:  summary{Mode: "yolo", Threshold: 25000, Deny: []string{"a from home/.adze/settings.json:1:57"}},
	},
	{
		name:  "QWEN_HOME",
		files: map[string]string{"home/.qwen": `{"model":{"name":"a"}}`, "elsewhere": `{"model":{"name":"b"}}`},
		edit: func(s *Sources) {
			dir := filepath.Join(filepath.Dir(s.UserHome), "elsewhere")
			s.Getenv = func(name string) string { return map[string]string{"QWEN_HOME": dir}[name] }
		},
		want: summary{Mode: "default", Model: "b", Threshold: 25000},
	},
}

func TestLoad(t *testing.T) {
	for _, test := range loadTests {
		t.Run(test.name, func(t *testing.T) {
			dir, src := place(t, test.files)
			if test.edit != nil {
				test.edit(&src)
			}
			s, err := Load(src)
			if diff := cmp.Diff(test.want, summarize(dir, s, err)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLoadErrors(t *testing.T) {
	const at = "read settings home/.adze/settings.json:"
	tests := []struct{ name, text, want string }{
		{"syntax", "{\n  \"a\": }", at + "2:8: invalid character '}' looking for beginning of value"},
		{"cut off", "{\n  \"a\": 1,", at + "2:9: unexpected end of JSON input"},
		{"after a wide character", "{\"ä\": x}", at + "1:7: invalid character 'x' looking for beginning of value"},
		{"open comment", "{}\n/* x", at + "2:1: invalid character '/' after top-level value"},
		{"open string", "{\"a", at + "1:3: unexpected end of JSON input"},
		{"two values", "{}\n{}", at + "2:1: invalid character '{' after top-level value"},
		{"a list", "\n []", at + "2:2: expected an object, got a list"},
		{"not UTF-8", "{\"a\":\n\"\xff\"}", at + "2:2: the file is not UTF-8"},
		{"deep", strings.Repeat("[", 20_000), at + "1:10001: invalid character '[' exceeded max depth"},
		{"mode", `{"tools":{"approvalMode":"turbo"}}`, at + "1:26: tools.approvalMode has the invalid value \"turbo\"\nExpected one of: plan, default, auto-edit, yolo"},
		{"mode's type", `{"tools":{"approvalMode":true}}`, at + "1:26: tools.approvalMode must be a string, got true"},
		{"old name's type", `{"approvalMode":[]}`, at + "1:17: tools.approvalMode must be a string, got a list"},
		{"model's type", `{"model":{"name":{}}}`, at + "1:18: model.name must be a string, got an object"},
		{"threshold", `{"tools":{"truncateToolOutputThreshold":"9"}}`, at + `1:41: tools.truncateToolOutputThreshold must be a whole number, got "9"`},
		{"threshold, half", `{"tools":{"truncateToolOutputThreshold":1.5}}`, at + "1:41: tools.truncateToolOutputThreshold must be a whole number, got 1.5"},
		{"threshold, huge", `{"tools":{"truncateToolOutputThreshold":1e99}}`, at + "1:41: tools.truncateToolOutputThreshold must be a whole number, got 1e99"},
		{"share, text", `{"context":{"autoCompactThreshold":"0.5"}}`, at + `1:36: context.autoCompactThreshold must be a number from 0 to 1, got "0.5"`},
		{"share, percent", `{"context":{"autoCompactThreshold":85}}`, at + "1:36: context.autoCompactThreshold must be a number from 0 to 1, got 85"},
		{"share, negative", `{"context":{"autoCompactThreshold":-0.1}}`, at + "1:36: context.autoCompactThreshold must be a number from 0 to 1, got -0.1"},
		{"compaction model's type", `{"compactionModel":1}`, at + "1:20: compactionModel must be a string, got 1"},
		{"tools", `{"tools":[]}`, at + "1:10: tools must be an object, got a list"},
		{"rules", `{"permissions":{"deny":"Shell(rm)"}}`, at + `1:24: permissions.deny must be a list of strings, got "Shell(rm)"`},
		{"a rule", `{"permissions":{"deny":["a",7]}}`, at + "1:24: permissions.deny must be a list of strings, got 7"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir, src := place(t, map[string]string{"home/.adze": test.text})
			s, err := Load(src)
			var typed *Error
			if !errors.As(err, &typed) {
				t.Fatalf("%v is no *Error", err)
			}
			if diff := cmp.Diff(summary{Err: test.want}, summarize(dir, s, err)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Settings of an untrusted project are ignored, but an unreadable file may have deny rules.
func TestUntrustedFileMustBeReadable(t *testing.T) {
	dir, src := place(t, map[string]string{"app/.adze": `{"model":{"name":3}}`})
	s, err := Load(src)
	if got := summarize(dir, s, err).Err; got != "read settings app/.adze/settings.json:1:18: model.name must be a string, got 3" {
		t.Error(got)
	}
}

func TestFlagErrors(t *testing.T) {
	for want, flag := range map[string]Flag{
		"read settings --x: no.such is not a known setting": {Name: "--x", Key: "no.such", Value: "1"},
		"read settings --approval-mode: tools.approvalMode has the invalid value \"turbo\"\nExpected one of: plan, default, auto-edit, yolo": {Name: "--approval-mode", Key: "tools.approvalMode", Value: "turbo"},
		`read settings --n: tools.truncateToolOutputThreshold must be a whole number, got "many"`:                                            {Name: "--n", Key: "tools.truncateToolOutputThreshold", Value: "many"},
	} {
		if _, err := Load(Sources{Flags: []Flag{flag}}); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestFilesThatAreNone(t *testing.T) {
	link := func(to string) func(path string) error {
		return func(path string) error { return os.Symlink(to, path) }
	}
	tests := []struct {
		name string
		make func(path string) error
		want string // in the error; "" without one
	}{
		{"a directory", func(path string) error { return os.Mkdir(path, 0o700) }, "settings.json: not a regular file"},
		{"a link to nowhere", link("nowhere"), "no such file"},
		{"a link to itself", link("settings.json"), "too many levels"},
		{"too large", func(path string) error {
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				return err
			}
			return os.Truncate(path, maxFile+1)
		}, "over the limit of 4194304"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := test.make(filepath.Join(dir, "settings.json")); err != nil {
				t.Skip(err)
			}
			_, err := Load(Sources{AdzeHome: dir})
			var typed *Error
			if !errors.As(err, &typed) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an *Error with %q", err, test.want)
			}
		})
	}
}

// A project whose .qwen is a file has no settings there.
func TestDirectoryIsAFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, ".qwen"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(Sources{Project: dir}); err != nil {
		t.Error(err)
	}
}

func TestHome(t *testing.T) {
	home := t.TempDir()
	env := func(dir string) func(string) string {
		return func(name string) string { return map[string]string{"ADZE_HOME": dir}[name] }
	}
	if got, err := Home(env(""), home); err != nil || got != filepath.Join(home, ".adze") {
		t.Errorf("default: %q, %v", got, err)
	}
	if got, err := Home(env(filepath.Join(home, "x")+"/"), ""); err != nil || got != filepath.Join(home, "x") {
		t.Errorf("ADZE_HOME: %q, %v", got, err)
	}
	for _, dir := range []string{"state", "~/state"} {
		if got, err := Home(env(dir), home); err == nil {
			t.Errorf("ADZE_HOME=%s: %q", dir, got)
		}
	}
	if got, err := Home(env(""), ""); err == nil {
		t.Errorf("no home: %q", got)
	}
}

func TestEnsureHome(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	for range 2 {
		if err := EnsureHome(dir); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm() & 0o077; got != 0 && filepath.Separator == '/' {
		t.Errorf("others may do %o", got)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var cause *fs.PathError
	if err := EnsureHome(file); !errors.As(err, &cause) {
		t.Errorf("a file in its place: %v", err)
	}
}

// An administrator's settings are stronger than those of projects and users, and the defaults weaker.
func TestSystemSettings(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("etc/settings.json", `{"tools":{"core":["read_file"],"exclude":["a"]}}`)
	write("own/settings.json", `{"tools":{"trial":"off"}}`)
	write("own/system-defaults.json", `{"model":{"name":"own"}}`)
	write("etc/system-defaults.json", `{"model":{"name":"default"},"tools":{"sandbox":"off"}}`)
	write("app/.adze/settings.json", `{"tools":{"core":["read_file","glob"],"exclude":["b"]},"model":{"name":"mine"}}`)
	src := Sources{System: []string{filepath.Join(dir, "etc"), filepath.Join(dir, "own")}, Project: filepath.Join(dir, "app"), Trusted: true}
	s, err := Load(src)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(Texts(s.Tools.Core), " ") + ", " + strings.Join(Texts(s.Tools.Exclude), " ") + ", " + s.Model.Name + ", " + s.Tools.Sandbox; got != "read_file, b a, mine, off" || s.Tools.Trial != "off" {
		t.Error(got, s.Tools.Trial)
	}
	other := write("other.json", `{"tools":{"core":["edit"]}}`)
	src.Getenv = func(name string) string {
		return map[string]string{"QWEN_CODE_SYSTEM_SETTINGS_PATH": other, "QWEN_CODE_SYSTEM_DEFAULTS_PATH": "relative"}[name]
	}
	if s, err = Load(src); err != nil || strings.Join(Texts(s.Tools.Core), " ") != "edit" || s.Tools.Sandbox != "off" {
		t.Error(err, s.Tools)
	}
	for _, goos := range []string{"linux", "darwin", "windows"} {
		if len(SystemDirs(goos)) != 2 {
			t.Error(goos)
		}
	}
}

// Settings of Qwen Code's telemetry were warnings on every run as long as Adze's own had the same object.
func TestQwenTelemetryIsSilent(t *testing.T) {
	s, err := loadModel(t, `{"telemetry":{"enabled":true,"otlpEndpoint":"http://127.0.0.1:9"}}`, `{"otel":{"endpoint":"http://127.0.0.1:1"}}`, `{"otel":{"endpoint":"http://127.0.0.1:2"}}`)
	if err != nil || s.Telemetry.Endpoint != "http://127.0.0.1:1" || len(s.Unknown()) != 1 || s.Unknown()[0].Key != "telemetry" { // the object, which doctor lists
		t.Errorf("%v %v %v", s.Telemetry, s.Unknown(), err)
	}
}
