package builtin

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/dev/serial"
	"github.com/adze-dev/adze/tool"
)

func toolNames(tools []tool.Tool) []string {
	var names []string
	for _, t := range tools {
		names = append(names, t.Declaration().Name)
	}
	return names
}

// A program that sets no options gets only tools without needs; each option adds the tools that need it.
func TestToolsAreThoseThatAreServed(t *testing.T) {
	dir := t.TempDir()
	offered := func(o Options) []string {
		o.Dir = dir
		s, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if all := s.All(); len(all) != len(s.tools) {
			t.Errorf("All has %d of %d tools", len(all), len(s.tools))
		}
		return toolNames(s.Tools())
	}
	plain := offered(Options{})
	s := open(t, dir)
	for _, tl := range s.All() {
		if d := tl.Declaration(); slices.Contains(plain, d.Name) != (d.Needs == "") {
			t.Errorf("%s needs %q; offered: %v", d.Name, d.Needs, slices.Contains(plain, d.Name))
		}
	}
	w := wired(dir)
	for _, c := range []struct {
		name string
		o    Options
		want []string
	}{
		{"nothing", Options{}, nil},
		{"a session", Options{Session: true}, []string{"save_memory", "todo_write"}},
		{"a user", Options{HasUser: true}, []string{"ask_user_question"}},
		{"modes without a user", Options{Mode: w.Mode, SetMode: w.SetMode}, nil},
		{"a user and modes", Options{HasUser: true, Mode: w.Mode, SetMode: w.SetMode}, []string{"enter_plan_mode", "exit_plan_mode", "ask_user_question"}},
		{"plan mode that cannot be left", Options{HasUser: true, Mode: w.Mode, SetMode: w.SetMode, Exclude: excluding("exit_plan_mode")}, []string{"ask_user_question"}},
		{"a crew", Options{Task: w.Task}, []string{"task"}},
		{"skills", Options{Skills: []Skill{{Name: "x"}}}, []string{"skill"}},
		{"language servers", Options{Servers: []LanguageServer{{Name: "x"}}}, []string{"code"}},
		{"tools to find", Options{FindTools: w.FindTools}, []string{"tool_search"}},
	} {
		got := slices.DeleteFunc(offered(c.o), func(name string) bool { return slices.Contains(plain, name) })
		if !slices.Equal(got, c.want) {
			t.Errorf("%s brings %v, want %v", c.name, got, c.want)
		}
	}
	if got := offered(Options{Exclude: excluding("run_shell_command")}); slices.Contains(got, "run_shell_command") || slices.Contains(got, "shell_output") || slices.Contains(got, "shell_stop") {
		t.Errorf("without commands: %v", got)
	}
}

func excluding(name string) func(tool.Declaration) bool {
	return func(d tool.Declaration) bool { return d.Name == name }
}

// No declaration mentions a tool that is not offered, whichever is missing.
func TestDeclarationsMentionOnlyOfferedTools(t *testing.T) {
	dir := t.TempDir()
	all, err := New(wired(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer all.Close()
	for _, name := range toolNames(all.All()) {
		o := wired(dir)
		o.Exclude = excluding(name)
		s, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		for _, tl := range s.Tools() {
			d := tl.Declaration()
			if d.Name == name {
				t.Errorf("%s is excluded and offered", name)
			}
			if text := d.Description + " " + string(d.Parameters); mentions(name).MatchString(text) || strings.Contains(text, "{{") {
				t.Errorf("without %s, %s says: %s", name, d.Name, text)
			}
		}
		s.Close()
	}
}

// mentions matches a text that suggests a tool. A name that is also an ordinary word must follow a word such as "use".
func mentions(name string) *regexp.Regexp {
	if !strings.Contains(name, "_") {
		return regexp.MustCompile(`(?i)\b(use|with|see|call|or) ` + name + `\b([^-]|$)`)
	}
	return regexp.MustCompile(`\b` + name + `\b`)
}

// Errors and results name another tool only through a hint, which is omitted where that tool is not offered.
func TestTextsNameToolsThroughHints(t *testing.T) {
	serial.Test(t)
	names := toolNames(open(t, t.TempDir()).All())
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	literals := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") || file == "offer.go" {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if f, ok := call.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "hint" {
					return false
				}
			}
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			literals++
			text, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			text = aside().ReplaceAllString(text, "")
			for _, name := range names {
				pair := name == ExitPlanMode && file == "enter_plan_mode.go" // which is not offered without it
				if text != name && !pair && file != name+".go" && mentions(name).MatchString(text) {
					t.Errorf("%s names %s without a hint: %q", file, name, text)
				}
			}
			return true
		})
	}
	if literals < 500 {
		t.Errorf("only %d texts were looked at", literals)
	}
}

// Errors and results don't suggest a tool that isn't offered.
func TestHints(t *testing.T) {
	for _, missing := range []bool{false, true} {
		dir := t.TempDir()
		put(t, dir, map[string]string{"a.txt": "x\n"})
		o := Options{Dir: dir, Helper: testHelper}
		if missing {
			o.Exclude = func(d tool.Declaration) bool { return d.Name != "edit" && d.Name != "run_shell_command" }
		}
		s, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		x := executor(s)
		for _, c := range []struct {
			name, tool string
			args       args
			hint       string
		}{
			{"no job", "shell_output", args{"id": "none"}, "run_shell_command with is_background"},
			{"unread", "edit", args{"file_path": filepath.Join(dir, "a.txt"), "old_string": "x", "new_string": "y"}, "read_file"},
			{"not there", "edit", args{"file_path": filepath.Join(dir, "b.txt"), "old_string": "x", "new_string": "y"}, "list_directory"},
			{"there", "edit", args{"file_path": filepath.Join(dir, "a.txt"), "old_string": "", "new_string": "y"}, "write_file"},
			{"background", "run_shell_command", args{"command": "true", "is_background": true}, "shell_output"},
		} {
			want := !missing || c.tool == "shell_output"
			if text := call(t, x, c.tool, c.args).Result.Text(); strings.Contains(text, c.hint) != want {
				t.Errorf("%s, missing %v: %s", c.name, missing, text)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
