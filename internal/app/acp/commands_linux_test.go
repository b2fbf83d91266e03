package acp

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/adze-dev/adze/internal/dev/waittest"
	"github.com/adze-dev/adze/model/openai/openaitest"
)

// An editor that goes away in the middle of a command leaves no process.
func TestGone(t *testing.T) {
	t.Parallel()
	e := open(t)
	pid := filepath.Join(e.dir, "pid")
	e.model(openaitest.Answer{Calls: []openaitest.Call{call("c1", "run_shell_command", map[string]any{"command": "echo $$ > pid; sleep 1000"})}})
	e.initialize(`{}`)
	id := e.session()
	e.choose("once")
	e.begin("session/prompt", prompt(id, "go"))
	var n int
	waittest.Until(t, "the command runs", func() bool {
		b, _ := os.ReadFile(pid)
		n, _ = strconv.Atoi(strings.TrimSpace(string(b)))
		return n != 0
	})
	e.close()
	waittest.Until(t, "the command is killed", func() bool { return errors.Is(syscall.Kill(n, 0), syscall.ESRCH) })
}

// The question about a tried command has its changes as diffs, and kept changes are on disk.
func TestTrial(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ answer, a string }{{"once", "two\n"}, {"no", "one\n"}, {"run", "two\n"}} {
		t.Run(tt.answer, func(t *testing.T) {
			t.Parallel()
			e := open(t)
			if err := os.Remove(filepath.Join(e.home, "settings.json")); err != nil {
				t.Fatal(err)
			}
			path := e.file("a.txt", "one\n")
			var told []string
			whole := 0
			e.model(openaitest.Answer{Calls: []openaitest.Call{call("c1", "run_shell_command", map[string]any{"command": "(exec 3<>/dev/tcp/127.0.0.1/1) 2>/dev/null\necho two > a.txt\n  echo new > b.txt"})}},
				openaitest.Answer{Text: "ok"})
			e.initialize(`{}`)
			id := e.session()
			e.on("session/request_permission", func(params map[string]any) any {
				names := ""
				for _, o := range list(params["options"]) {
					names += o["optionId"].(string) + "=" + o["name"].(string) + " "
				}
				told = append(told, names)
				for _, c := range list(params["toolCall"].(map[string]any)["content"]) {
					if text, ok := c["content"].(map[string]any); ok && strings.Contains(text["text"].(string), "\necho two > a.txt\n  echo new > b.txt\n") {
						whole++ // the question has all of the command, and so does the one whether it runs again
					}
					if c["type"] == "diff" {
						old, _ := c["oldText"].(string)
						told = append(told, filepath.Base(c["path"].(string))+": "+old+" > "+c["newText"].(string))
					}
				}
				return map[string]any{"outcome": map[string]any{"outcome": "selected", "optionId": tt.answer}}
			})
			e.say(id, "go")
			if len(told) > 0 && strings.HasPrefix(told[0], "once=Allow once") {
				t.Skip("commands can't be tried here: adze doctor says why")
			}
			if len(told) < 3 || !strings.HasPrefix(told[0], "once=Keep ") || !strings.HasSuffix(told[0], "run=Discard, and run again with network … no=Discard ") ||
				!slices.Contains(told, "a.txt: one\n > two\n") || !slices.Contains(told, "b.txt:  > new\n") {
				t.Errorf("%q", told)
			}
			if asked := slices.Contains(told, "run=Run it no=Back "); asked != (tt.answer == "run") || whole != 1 && !asked || whole != 2 && asked {
				t.Errorf("asked again: %v, %d questions had the whole command: %q", asked, whole, told)
			}
			if b, _ := os.ReadFile(path); string(b) != tt.a {
				t.Errorf("%q", b)
			}
			want := []string{"a.txt: one\n > two\n", "b.txt:  > new\n"}
			if tt.answer == "no" {
				want = nil
			}
			if diffs := e.diffs(); !slices.Equal(diffs, want) { // of the result, whether its changes were kept or it ran again
				t.Errorf("%q", diffs)
			}
			e.call("session/close", map[string]any{"sessionId": id})
			e.forget()
			e.call("session/load", map[string]any{"sessionId": id, "cwd": e.dir, "mcpServers": []any{}})
			if diffs := e.diffs(); !slices.Equal(diffs, want) {
				t.Errorf("loaded: %q", diffs)
			}
		})
	}
}

// diffs returns the diffs in results of calls.
func (e *editor) diffs() []string {
	var out []string
	for _, u := range append(e.of("tool_call"), e.of("tool_call_update")...) {
		if u["status"] != "completed" && u["status"] != "failed" {
			continue
		}
		for _, c := range list(u["content"]) {
			if c["type"] == "diff" {
				old, _ := c["oldText"].(string)
				out = append(out, filepath.Base(c["path"].(string))+": "+old+" > "+c["newText"].(string))
			}
		}
	}
	return out
}
