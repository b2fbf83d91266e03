//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adze-dev/adze/model/openai/openaitest"
	"github.com/adze-dev/adze/tool"
)

// effectRow is a call that changes a file.
type effectRow struct {
	title, tool string
	args        map[string]any // paths begin with /W/
	settings    string         // of tools
}

const untried = `"approvalMode":"yolo","sandbox":"off"`

// waitsForItsCall waits until the call that started a background command has ended.
const waitsForItsCall = `until grep -qs '"call.finished".*run_shell_command' "$HOME"/sessions/*/journal.jsonl; do sleep 0.05; done; `

func effectRows() []effectRow {
	return []effectRow{
		{"`edit`", "edit", map[string]any{"file_path": "/W/a.txt", "old_string": "one", "new_string": "two"}, untried},
		{"`write_file`", "write_file", map[string]any{"file_path": "/W/new.txt", "content": "new"}, untried},
		{"`notebook_edit`", "notebook_edit", map[string]any{"notebook_path": "/W/n.ipynb", "cell_id": "c", "new_source": "2"}, untried},
		{"`save_memory`", "save_memory", map[string]any{"fact": "It is blue.", "scope": "project"}, untried},
		{"a command that was tried", "run_shell_command", map[string]any{"command": "sh x.sh"}, `"approvalMode":"auto-edit"`},
		{"a command that wasn't", "run_shell_command", map[string]any{"command": "sh x.sh"}, untried},
		{"a background command", "run_shell_command", map[string]any{"command": "sh bg.sh", "is_background": true}, untried},
		{"an MCP tool", "test__write", map[string]any{"path": "/W/a.txt"}, untried},
	}
}

// effectDesk is where a row runs.
type effectDesk struct {
	t *testing.T
	effectRow
	home, dir string
	before    fullCopy
}

func (r effectRow) open(t *testing.T, permissions string) *effectDesk {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	d := &effectDesk{t: t, effectRow: r, home: filepath.Join(base, "home"), dir: filepath.Join(base, "work")}
	servers := ""
	if strings.HasPrefix(r.tool, "test__") {
		servers = `,"mcpServers":{"test":{"command":"mcpserver","env":{"WRITES":"1"}}}`
	}
	for path, text := range map[string]string{
		"work/a.txt": "one\n", "work/x.sh": "echo two > a.txt\n", "work/bg.sh": waitsForItsCall + "echo two > a.txt\n", "work/n.ipynb": `{"cells":[{"cell_type":"code","id":"c","source":"1","metadata":{},"outputs":[],` +
			`"execution_count":null}],"metadata":{},"nbformat":4,"nbformat_minor":5}`,
		"home/settings.json": `{"tools":{` + r.settings + `},"permissions":{` + permissions + `},` +
			`"hooks":{"FilesChanged":[{"hooks":[{"type":"command","command":"cat >> '` + base + `/hook'"}]}]}` + servers + `}`,
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(base, path)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(base, path), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if servers != "" { // its tools are known from now on
		if out, err := d.adze("", "mcp", "tools", "test").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	d.before = copyOf(t, d.dir)
	d.args = map[string]any{}
	for name, value := range r.args {
		if text, ok := value.(string); ok && strings.HasPrefix(text, "/W/") {
			value = filepath.Join(d.dir, text[3:])
		}
		d.args[name] = value
	}
	return d
}

func (d *effectDesk) adze(server string, args ...string) *exec.Cmd {
	cmd := exec.Command("adze", args...)
	cmd.Dir = d.dir
	cmd.Env = append(os.Environ(), "HOME="+d.home, "ADZE_HOME="+d.home, "OPENAI_BASE_URL="+server, "OPENAI_API_KEY=", "OPENAI_MODEL=m", "ADZE_LOCAL_MODELS=off")
	return cmd
}

// calls returns the calls of the row: one may read the file before, or wait for the end of a background command.
func (d *effectDesk) calls() []openaitest.Call {
	call := func(id, name string, args map[string]any) openaitest.Call {
		raw, _ := json.Marshal(args)
		return openaitest.Call{ID: id, Name: name, Args: raw}
	}
	all := []openaitest.Call{call("c1", d.tool, d.args)}
	for _, name := range []string{"file_path", "notebook_path"} {
		if path, ok := d.args[name].(string); ok && d.tool != "write_file" {
			all = append([]openaitest.Call{call("c0", "read_file", map[string]any{"absolute_path": path})}, all...)
		}
	}
	if d.args["is_background"] == true {
		all = append(all, call("c2", "shell_output", map[string]any{"id": "bg_1", "wait": 60000}))
	}
	return all
}

// model returns the URL of a model that makes the calls.
func (d *effectDesk) model() string {
	var answers []openaitest.Answer
	for _, c := range d.calls() {
		answers = append(answers, openaitest.Answer{Calls: []openaitest.Call{c}})
	}
	return openaitest.Serve(d.t, openaitest.Script{Answers: append(answers, openaitest.Answer{Text: "done"})}).URL
}

// listed is a cell's letter for a list of changes.
func listed(c *tool.Changes) string {
	switch {
	case c == nil || len(c.List) == 0:
		return "–"
	case c.During:
		return "c"
	}
	return "C"
}

// streamed makes the call with adze -p.
func (d *effectDesk) streamed() (letter, text string) {
	cmd := d.adze(d.model(), "-p", "go", "--output-format", "stream-json")
	var told strings.Builder
	cmd.Stderr = &told
	out, err := cmd.Output()
	if err != nil {
		d.t.Fatalf("%v: %s%s", err, out, told.String())
	}
	var changes *tool.Changes
	session := ""
	for line := range strings.Lines(string(out)) {
		type listing struct {
			ID      string        `json:"tool_use_id"`
			Changes *tool.Changes `json:"changes"`
		}
		var m struct {
			listing
			Session string `json:"session_id"`
			Message struct{ Content []listing }
		}
		_ = json.Unmarshal([]byte(line), &m) // contents of other messages may be texts
		session = m.Session
		for _, one := range append(m.Message.Content, m.listing) {
			if one.ID == "c1" && one.Changes != nil {
				changes = one.Changes
			}
		}
	}
	page, err := d.adze("", "session", "export", session, "--format", "html").Output()
	if err != nil || changes != nil && !strings.Contains(string(page), filepath.Base(changes.List[0].Path)) {
		d.t.Errorf("the HTML export has no changes: %v", err)
	}
	return listed(changes), string(out) + told.String()
}

// called makes the call with adze tool call.
func (d *effectDesk) called() (letter, text string) {
	if d.args["is_background"] == true {
		return "", "stopped at the end"
	}
	raw, _ := json.Marshal(d.args)
	cmd := d.adze("", "tool", "call", d.tool, string(raw), "--json")
	var told strings.Builder
	cmd.Stderr = &told
	out, _ := cmd.Output() // it may be denied
	var result struct{ Changes *tool.Changes }
	if err := json.Unmarshal(out, &result); err != nil {
		d.t.Fatalf("%v: %s%s", err, out, told.String())
	}
	return listed(result.Changes), string(out) + told.String()
}

// served makes the call through adze mcp serve.
func (d *effectDesk) served() (letter, text string) {
	cmd := d.adze("", "mcp", "serve")
	var told strings.Builder
	cmd.Stderr = &told
	c, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(d.t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		d.t.Fatal(err)
	}
	defer c.Close()
	list, err := c.ListTools(d.t.Context(), nil)
	if err != nil {
		d.t.Fatal(err)
	}
	if !slices.ContainsFunc(list.Tools, func(one *mcp.Tool) bool { return one.Name == d.tool }) {
		return "", "not offered"
	}
	var changes *tool.Changes
	for _, one := range d.calls() {
		res, err := c.CallTool(d.t.Context(), &mcp.CallToolParams{Name: one.Name, Arguments: one.Args})
		if err != nil {
			d.t.Fatal(err)
		}
		raw, _ := json.Marshal(res.Content)
		text += string(raw)
		if raw, _ = json.Marshal(res.Meta["adze.dev/changes"]); one.ID == "c1" && json.Unmarshal(raw, &changes) != nil {
			d.t.Fatalf("%s", raw)
		}
	}
	c.Close()
	return listed(changes), text + told.String()
}

// edited makes the call in an editor, which gets diffs.
func (d *effectDesk) edited() (letter, text string) {
	cmd := d.adze(d.model(), "acp")
	in, err := cmd.StdinPipe()
	if err != nil {
		d.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		d.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	letter = "–"
	ask := func(id int, method string, params map[string]any) (session string) {
		raw, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
		fmt.Fprintf(in, "%s\n", raw)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				d.t.Fatalf("%s: %v %s", method, err, line)
			}
			text += line
			var m struct {
				Method string
				ID     int
				Result struct{ SessionID string }
				Params struct {
					Update struct {
						ID      string `json:"toolCallId"`
						Status  string
						Content any
					}
				}
			}
			_ = json.Unmarshal([]byte(line), &m)
			content, _ := json.Marshal(m.Params.Update.Content)
			if u := m.Params.Update; u.ID == "c1" && u.Status != "pending" && strings.Contains(string(content), `"type":"diff"`) {
				letter = "D"
			}
			switch {
			case m.Method == "session/request_permission":
				fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"result":{"outcome":{"outcome":"selected","optionId":"once"}}}`+"\n", m.ID)
			case m.Method == "" && m.ID == id:
				return m.Result.SessionID
			}
		}
	}
	ask(1, "initialize", map[string]any{"protocolVersion": 1,
		"clientCapabilities": map[string]any{"session": map[string]any{"notices": map[string]any{}}}})
	id := ask(2, "session/new", map[string]any{"cwd": d.dir, "mcpServers": []any{}})
	ask(3, "session/prompt", map[string]any{"sessionId": id, "prompt": []any{map[string]any{"type": "text", "text": "go"}}})
	in.Close()
	_, _ = io.Copy(io.Discard, lines)
	if err := cmd.Wait(); err != nil {
		d.t.Error(err)
	}
	return letter, text
}

// cell runs the call through a front end: with a hook, which is undone; and against a rule.
func (r effectRow) cell(t *testing.T, run func(*effectDesk) (letter, text string)) string {
	d := r.open(t, "")
	cell, text := run(d)
	if cell == "" {
		return text
	}
	add := func(ok bool, letter string) {
		if !ok {
			letter = "–"
		}
		cell += letter
	}
	if copyOf(t, d.dir).all() == d.before.all() {
		t.Errorf("nothing changed")
	}
	hook, _ := os.ReadFile(filepath.Join(filepath.Dir(d.home), "hook"))
	add(strings.Contains(string(hook), `"changes"`), "H")
	out, err := d.adze("", "undo", "--all", "--yes").CombinedOutput()
	undone := copyOf(t, d.dir).all() == d.before.all()
	if undone != (err == nil) {
		t.Errorf("undo: %v %s", err, out)
	}

	ruled := r.open(t, `"deny":["Edit(/**)"]`)
	_, text = run(ruled)
	switch {
	case copyOf(t, ruled.dir).all() == ruled.before.all():
		cell += "R"
	default:
		add(strings.Contains(text, "that a rule protects") || strings.Contains(text, "A rule protects files that changed"), "r")
	}
	add(undone, "U")
	return cell
}

// The table in docs/sessions.md is what every front end does.
func TestEffectsTable(t *testing.T) {
	page, err := os.ReadFile("../../docs/sessions.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range effectRows() {
		t.Run(r.title, func(t *testing.T) {
			t.Parallel()
			if ok, err := canTry(); r.settings != untried && (err != nil || !ok) {
				t.Skip("commands can't be tried here: adze doctor says why")
			}
			var cells []string
			for _, run := range []func(*effectDesk) (string, string){(*effectDesk).streamed, (*effectDesk).edited, (*effectDesk).called, (*effectDesk).served} {
				cells = append(cells, r.cell(t, run))
			}
			row := fmt.Sprintf("| %s | %s |\n", r.title, strings.Join(cells, " | "))
			if !strings.Contains(string(page), row) {
				t.Errorf("docs/sessions.md has no row %s", row)
			}
		})
	}
}
