package builtin

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adze-dev/adze/builtin/web"
	"github.com/adze-dev/adze/tool"
)

// foreignCalls are calls as models trained on Claude Code and Gemini CLI make them, with those programs' arguments. $DIR is
// the workspace, $URL a site.
var foreignCalls = []struct {
	name, args string
	tool       string // that runs
	want       string // in its result
}{
	{"Bash", `{"command":"echo hello","description":"Say hello","timeout":60000,"run_in_background":false,"dangerouslyDisableSandbox":false}`, "run_shell_command", "hello"},
	{"bash", `{"command":"echo hello"}`, "run_shell_command", "hello"},
	{"Bash", `{"command":"sleep 60","run_in_background":true}`, "run_shell_command", "Background"},
	{"Read", `{"file_path":"$DIR/a.go","offset":1,"limit":5}`, "read_file", "func a()"},
	{"Write", `{"file_path":"$DIR/new.txt","content":"x\n"}`, "write_file", "Successfully created"},
	{"Edit", `{"file_path":"$DIR/a.go","old_string":"func a()","new_string":"func b()","replace_all":false}`, "edit", "func b()"},
	{"MultiEdit", `{"file_path":"$DIR/a.go","edits":[{"old_string":"package a","new_string":"package b"},{"old_string":"func b()","new_string":"func a()","replace_all":true}]}`, "edit", "func a()"},
	{"Grep", `{"pattern":"func","path":"$DIR","output_mode":"content","-A":1,"-B":1,"-C":2,"-n":true,"-i":true,"head_limit":5,"glob":"*.go","type":"go","multiline":false}`, "grep_search", "func a()"},
	{"Glob", `{"pattern":"**/*.go","path":"$DIR"}`, "glob", "a.go"},
	{"LS", `{"path":"$DIR","ignore":["*.ipynb"]}`, "list_directory", "a.go"},
	{"WebFetch", `{"url":"$URL/page","prompt":"What does it say?"}`, "web_fetch", "Hello"},
	{"WebSearch", `{"query":"go generics","allowed_domains":["example.org"],"blocked_domains":[]}`, "web_search", "About go generics"},
	{"TodoWrite", `{"todos":[{"content":"Look","status":"completed","activeForm":"Looking"},{"content":"Fix","status":"in_progress","activeForm":"Fixing"}]}`, "todo_write", "Fix"},
	{"Task", `{"description":"look","prompt":"Look around.","subagent_type":"general-purpose","model":"haiku","run_in_background":false}`, "task", "done"},
	{"NotebookEdit", `{"notebook_path":"$DIR/n.ipynb","cell_id":"c1","new_source":"2","cell_type":"code","edit_mode":"replace"}`, "notebook_edit", "c1"},
	{"Skill", `{"skill":"tidy","args":"a.go"}`, "skill", "Sweep."},
	{"AskUserQuestion", `{"questions":[{"question":"Which?","header":"DB","multiSelect":false,"options":[{"label":"A","description":"first"},{"label":"B","description":"second","preview":"b"}]}],"metadata":{"source":"x"}}`, "ask_user_question", "A"},
	{"ExitPlanMode", `{"plan":"1. Do it.","allowedPrompts":[]}`, "exit_plan_mode", "lan"},
	{"BashOutput", `{"bash_id":"bg_1","filter":"x"}`, "shell_output", "bg_1"},
	{"KillShell", `{"shell_id":"bg_1"}`, "shell_stop", "bg_1"},

	{"read_file", `{"absolute_path":"$DIR/a.go","offset":0,"limit":1}`, "read_file", "package b"},
	{"read_file", `{"file_path":"$DIR/a.go"}`, "read_file", "package b"},
	{"replace", `{"file_path":"$DIR/a.go","instruction":"Rename the package.","old_string":"package b","new_string":"package a","expected_replacements":1}`, "edit", "package a"},
	{"search_file_content", `{"pattern":"func","dir_path":"$DIR","include":"*.go"}`, "grep_search", "func a()"},
	{"run_shell_command", `{"command":"echo hello","description":"Say hello","dir_path":"$DIR"}`, "run_shell_command", "hello"},
	{"list_directory", `{"dir_path":"$DIR","ignore":[],"file_filtering_options":{"respect_git_ignore":true,"respect_gemini_ignore":true}}`, "list_directory", "a.go"},
	{"google_web_search", `{"query":"go generics"}`, "web_search", "About go generics"},
	{"read_many_files", `{"paths":["*.go"],"recursive":true,"useDefaultExcludes":true}`, "read_many_files", "package a"},
	{"read_many_files", `{"include":["*.go"],"exclude":["x"]}`, "read_many_files", "package a"},
	{"save_memory", `{"fact":"Tests run with make."}`, "save_memory", "Tests run with make."},
	{"write_todos", `{"todos":[{"description":"Look","status":"pending"}]}`, "todo_write", "Look"},
	{"web_fetch", `{"prompt":"What does $URL/page say?"}`, "web_fetch", "Hello"},
	{"glob", `{"pattern":"*.go","dir_path":"$DIR","case_sensitive":true,"respect_git_ignore":true}`, "glob", "a.go"},
	{"write_file", `{"file_path":"$DIR/more.txt","content":"x\n"}`, "write_file", "Successfully created"},
}

// foreignSet returns a set that supports all of foreignCalls, and an executor that judges by the declaration alone.
func foreignSet(t *testing.T, dir string, change func(*Options)) (x *tool.Executor, judged *[]string, site string) {
	t.Helper()
	host, engine := pages(t), engines(t)
	o := wired(dir)
	o.AllRead, o.State, o.Environ = true, filepath.Join(t.TempDir(), "state"), append(os.Environ(), "HOME="+t.TempDir())
	o.Mode = func() string { return planMode }
	o.Skills = []Skill{{Name: "tidy", About: says("How to tidy."), Dir: dir, Load: func() (string, error) { return "Sweep.", nil }}}
	o.WebFetch.AllowPrivateHosts = []string{strings.TrimPrefix(host.URL, "http://")}
	o.WebSearch = web.SearchOptions{Providers: []web.Provider{{Type: "searxng", BaseURL: engine.URL}}}
	if change != nil {
		change(&o)
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	judged = &[]string{}
	x = &tool.Executor{Registry: tool.NewRegistry(s.Tools()...), Policy: func(r tool.Request) tool.Decision {
		*judged = append(*judged, r.Declaration.Name)
		return tool.Decision{Verdict: tool.Allow}
	}, Ask: func(_ ctx, r tool.Request, _ tool.Decision) (tool.Decision, error) {
		return chose(map[string]string{"ask_user_question": `{"q1":"A"}`, "exit_plan_mode": `{"choice":"default"}`}[r.Declaration.Name]), nil
	}}
	return x, judged, host.URL
}

// Every call with another agent's name and arguments runs as the right tool of Adze.
func TestForeignCalls(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", t.TempDir())
	for name, content := range map[string]string{
		"a.go":    "package a\n\nfunc a() {}\n",
		"n.ipynb": `{"cells":[{"id":"c1","cell_type":"code","source":["1"],"metadata":{},"outputs":[],"execution_count":null}],"metadata":{},"nbformat":4,"nbformat_minor":5}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	x, judged, site := foreignSet(t, dir, nil)
	declared, err := json.Marshal(x.Registry.Declarations(nil))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(declared), "activeForm") {
		t.Error("an ignored parameter is declared")
	}
	for _, c := range foreignCalls {
		raw := strings.NewReplacer("$DIR", dir, "$URL", site).Replace(c.args)
		*judged = nil
		o := call(t, x, c.name, json.RawMessage(raw))
		if o.Status != tool.StatusSuccess || o.Name != c.tool || !strings.Contains(o.Result.Text(), c.want) {
			t.Errorf("%s %s:\ngot %s of %s: %s", c.name, raw, o.Status, o.Name, o.Result.Text())
		}
		for _, name := range *judged {
			if name != c.tool {
				t.Errorf("%s was judged as %s", c.name, name)
			}
		}
	}
}

// Excluded tools can't be called, and aren't suggested, by any name.
func TestForeignNamesOfExcludedTools(t *testing.T) {
	x, _, _ := foreignSet(t, t.TempDir(), func(o *Options) { o.Exclude = func(tool.Declaration) bool { return true } })
	for _, c := range foreignCalls {
		o := call(t, x, c.name, json.RawMessage(`{}`))
		if o.Status != tool.StatusError || o.Error.Type != tool.NotRegistered || strings.Contains(o.Error.Message, "Did you mean") {
			t.Errorf("%s: got %s, %v", c.name, o.Status, o.Error)
		}
	}
}

// A wrong suggestion is worse than none: for an unknown name, suggestions are for typos or of tools of one kind.
func TestSuggestions(t *testing.T) {
	x, _, _ := foreignSet(t, t.TempDir(), nil)
	for name, want := range map[string]string{
		"raed_file": `Did you mean "read_file"?`, "read_fil": `Did you mean "read_file"?`, "shell_comand": `Did you mean "run_shell_command"?`,
		"Bsh": "Available tools:", "Basj": `Did you mean "run_shell_command"?`, "Tsk": "Available tools:",
		"search": "Available tools:", "search_web": "Available tools:", "file": "Available tools:", "python": "Available tools:", "view_image": "Available tools:",
		"exec": "Available tools:", "edit_file": `Did you mean "edit"?`, "grep_files": `Did you mean "grep_search"?`,
	} {
		if _, err := x.Registry.Lookup(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: want %s, got %v", name, want, err)
		}
	}
}
