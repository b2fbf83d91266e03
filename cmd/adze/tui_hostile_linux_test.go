package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/adze-dev/adze/model/openai/openaitest"
)

// eightBit is text that could be a file's, with bytes that are not UTF-8: C1 controls of 8 bits.
const eightBit = commands + "\x9b?1003h\x9d0;pwned\x9c\xff\xfe"

// end is after the commands, so that it is known when they arrived.
const end = "END-OF-IT"

// No byte of a model, a tool, a server, a file or a repository changes the terminal's title, modes or clipboard.
func TestHostileBytes(t *testing.T) {
	call := func(name string, args map[string]any) openaitest.Call {
		b, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		return openaitest.Call{ID: "1", Name: name, Args: b}
	}
	calls := func(c openaitest.Call) []openaitest.Answer {
		return []openaitest.Answer{{Text: commands, Calls: []openaitest.Call{c}}, {Text: end}}
	}
	print := func(t *testing.T, d *desk) { write(t, d.dir, "evil.txt", eightBit+"\n"+end+"\n") }
	for _, test := range []struct {
		name    string
		prepare func(*testing.T, *desk)
		answers []openaitest.Answer
		typed   string // "": a prompt
		see     string // "": end
		args    []string
	}{
		{name: "answer", answers: []openaitest.Answer{{Thought: commands, Text: "# " + commands + "\n\n- " + commands + "\n\n`" + commands + "` **" + commands + "**\n\n```" + commands +
			"\n" + commands + "\n```\n\n| " + commands + " |\n|---|\n| " + commands + " |\n\n[" + commands + "](https://example.com/" + commands + ") <https://example.com/" + commands + ">\n\n" + end}}},
		{name: "unknown tool", answers: calls(call(commands, map[string]any{commands: commands}))},
		{name: "arguments", answers: calls(call("read_file", map[string]any{"file_path": commands}))},
		{name: "question", answers: calls(call("run_shell_command", map[string]any{"command": "touch '" + commands + "'\necho " + end, "description": commands})), see: end},
		{name: "long command", answers: calls(call("run_shell_command", map[string]any{"command": "touch '" + commands + "' # " + end, "description": commands})), see: end},
		{name: "diff", prepare: func(t *testing.T, d *desk) { write(t, d.dir, "evil.txt", commands+"\n"+end+"\n") }, see: "and " + end,
			answers: append([]openaitest.Answer{{Calls: []openaitest.Call{call("read_file", map[string]any{"file_path": "$DIR/evil.txt"})}}},
				calls(call("write_file", map[string]any{"file_path": "$DIR/evil.txt", "content": commands + "\nand " + end}))...)},
		{name: "new file", answers: calls(call("write_file", map[string]any{"file_path": "$DIR/a" + commands + ".txt", "content": end + commands})), see: end},
		{name: "to-dos", answers: calls(call("todo_write", map[string]any{"todos": []any{map[string]any{"id": "1", "content": commands, "status": "in_progress"}}}))},
		{name: "error", answers: []openaitest.Answer{{Status: 400, Raw: `{"error":{"message":` + asJSON(commands+end) + `}}`}}},
		{name: "tool output", prepare: print, answers: calls(call("run_shell_command", map[string]any{"command": "cat evil.txt; cat evil.txt >&2"}))},
		{name: "failing tool", prepare: print, answers: calls(call("run_shell_command", map[string]any{"command": "cat evil.txt; false"}))},
		{name: "own command", prepare: print, typed: "!cat evil.txt"},
		{name: "own error", typed: "!printf '\\033]0;pwned\\007" + end + "'; false"},
		{name: "branch", prepare: func(t *testing.T, d *desk) {
			write(t, d.dir, ".git/HEAD", "ref: refs/heads/"+strings.ReplaceAll(eightBit, "\n", "")+"\n")
		}, answers: []openaitest.Answer{{Text: end}}},
		{name: "file names", prepare: func(t *testing.T, d *desk) {
			write(t, d.dir, "evil"+strings.ReplaceAll(eightBit, "/", "")[:150]+".txt", "")
			write(t, d.dir, "evil\u202etxt.exe", "")
			write(t, d.dir, "evil-"+end, "")
		}, typed: "@evil", see: "evil-" + end},
		{name: "prompts", prepare: hostileServer, typed: "/help", see: "attaches an MCP resource"},
		{name: "server", prepare: hostileServer, answers: calls(call("evil__do", map[string]any{"text": commands}))},
		{name: "failed server", prepare: func(t *testing.T, d *desk) {
			write(t, d.home, "settings.json", `{"mcpServers":{`+asJSON("evil"+commands)+`:{"command":`+asJSON("/nowhere/"+commands)+`}}}`)
		}, answers: []openaitest.Answer{{Text: end}}},
		{name: "session", prepare: func(t *testing.T, d *desk) {
			m := scriptedModel(t, openaitest.Answer{Text: commands})
			d.run(t, m, "", "-p", commands+" title")
		}, args: []string{"-c"}, answers: []openaitest.Answer{{Text: end}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, `{"permissions":{"allow":["Shell(cat:*)","Shell(false)"]}}`)
			if test.prepare != nil {
				test.prepare(t, d)
			}
			for _, a := range test.answers {
				for i, c := range a.Calls {
					a.Calls[i].Args = json.RawMessage(strings.ReplaceAll(string(c.Args), "$DIR", d.dir))
				}
			}
			m := scriptedModel(t, test.answers...)
			g := conversation(t, d, m.URL, "", test.args...)
			g.see(t, "model    scripted")
			typed := test.typed
			if typed == "" {
				typed = "go"
			}
			g.types(t, typed)
			if !strings.HasPrefix(typed, "@") {
				g.types(t, "\r")
			}
			want := test.see
			if want == "" {
				want = end
			}
			g.see(t, want)
			checkUnharmed(t, g)
			g.quits(t)
			checkUnharmed(t, g)
			g.untouched(t)
		})
	}
}

// quits ends the program, whatever it shows. Ctrl+C denies, clears or interrupts, and Ctrl+D quits. Ctrl+C is rare: in a terminal
// that the program has left, it discards output that the test has not read yet.
func (g *glass) quits(t *testing.T) {
	t.Helper()
	tries := 0
	g.holds(t, "the program ends", func() bool {
		select {
		case code := <-g.ended:
			g.ended <- code
			return true
		default:
		}
		if tries%400 == 0 {
			g.keys.WriteString("\x03")
		}
		tries++
		g.keys.WriteString("\x04")
		return false
	})
}

// hostileServer configures an MCP server that sends commands, and waits until its manifest is known.
func hostileServer(t *testing.T, d *desk) {
	b, _ := json.Marshal(map[string]any{"mcpServers": map[string]any{"evil": map[string]any{"command": "badserver", "args": []string{"hostile"}, "trust": true}}})
	write(t, d.home, "settings.json", string(b))
	d.run(t, nil, "", "mcp", "tools", "evil")
}

// scriptedModel returns a server with answers, which it repeats.
func scriptedModel(t *testing.T, answers ...openaitest.Answer) *openaitest.Server {
	t.Helper()
	m, err := openaitest.Start(openaitest.Script{Answers: answers, Repeat: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// checkUnharmed checks what the program sent to the terminal: its own modes, and no command of anyone else.
func checkUnharmed(t *testing.T, g *glass) {
	t.Helper()
	modes := []string{"7", "25", "1004", "1036;1039", "2004", "2026"}
	state := g.State()
	for _, c := range state.Commands {
		private, isMode := strings.CutPrefix(strings.TrimRight(c, "hl"), "CSI ?")
		switch {
		case strings.Contains(c, "pwned") && !strings.HasPrefix(c, "ESC ]0;"), strings.HasPrefix(c, "ESC ]52"), strings.HasPrefix(c, `"`):
			t.Errorf("the terminal got %q", c)
		case isMode && private != strings.TrimPrefix(c, "CSI ?") && !slices.Contains(modes, private):
			t.Errorf("the terminal got the mode %q", c)
		case c == "ESC c", c == "ESC (0", c == "CSI 4h", c == "CSI !p", c == "CSI 1;5r", c == "CSI 8;1;1t", c == "CSI 21t", c == "CSI 5i":
			t.Errorf("the terminal got %q", c)
		}
	}
	if state.Erased > 0 || strings.HasPrefix(state.Title, "pwned") || len(state.Sent) > 0 && strings.Contains(strings.Join(state.Sent, " "), "pwned") {
		t.Errorf("the terminal is %+v", state)
	}
}
