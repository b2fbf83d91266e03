package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/adze-dev/adze/internal/dev/ptytest"
	"github.com/adze-dev/adze/internal/dev/waittest"
	"github.com/adze-dev/adze/model/openai/openaitest"
)

// moment is a state of the screen that is worth a look.
type moment struct {
	name    string
	files   map[string]string
	answers []openaitest.Answer
	steps   []string // "see TEXT", "type TEXT", "calm"
}

func shellCall(id, command string) openaitest.Call {
	return toolCall(id, "run_shell_command", map[string]any{"command": command, "description": "run it"})
}

func toolCall(id, name string, args map[string]any) openaitest.Call {
	b, err := json.Marshal(args)
	if err != nil {
		panic(err)
	}
	return openaitest.Call{ID: id, Name: name, Args: b}
}

func moments() []moment {
	script := "#!/bin/sh\n# Greets by name.\nif [ -n \"$1\" ]; then\n  echo \"Hello, $1!\"\nfi\n"
	fixed := "#!/bin/sh\n# Greets by name.\necho \"Hello, ${1:-world}!\"\n"
	write := []openaitest.Answer{
		{Thought: "hm", Text: "Let me look.", Calls: []openaitest.Call{toolCall("1", "read_file", map[string]any{"file_path": "$DIR/greet.sh"})}},
		{Calls: []openaitest.Call{toolCall("2", "write_file", map[string]any{"file_path": "$DIR/greet.sh", "content": fixed})}},
		{Text: "Done."},
	}
	files := map[string]string{"greet.sh": script, ".git/HEAD": "ref: refs/heads/main\n", "src/list.go": "package list\n", "src/list_test.go": "", "docs/listing.md": ""}
	numbered := func(first, last string) string {
		return first + "\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n" + last + "\n"
	}
	long := map[string]string{"list.txt": numbered("one", "fourteen"), ".git/HEAD": files[".git/HEAD"]}
	hunks := []openaitest.Answer{
		{Calls: []openaitest.Call{toolCall("1", "read_file", map[string]any{"file_path": "$DIR/list.txt"})}},
		{Calls: []openaitest.Call{toolCall("2", "write_file", map[string]any{"file_path": "$DIR/list.txt", "content": numbered("1", "14")})}},
		{Text: "Done."},
	}
	answer := "The script tests `$1` before it is set:\n\n```sh\nif [ -n \"$1\" ]; then # nothing without a name\n  echo \"Hello, $1!\"\nfi\n```\n\n" +
		"so it prints nothing without a name. **Two ways** to fix it:\n\n1. a default value, as in `${1:-world}`\n2. an error:\n   - on stderr\n   - with exit code 2\n\n" +
		"| way | lines | risk |\n|---|--:|---|\n| default | 1 | none |\n| error | 4 | scripts that call it |\n\nSee [the manual](https://example.com/sh)."
	return []moment{
		{"first-run", files, nil, []string{"see context"}},
		{"answer", files, []openaitest.Answer{{Thought: "hm", Text: answer}}, []string{"see context", "type why does greet.sh print nothing?\r", "see the manual", "see context"}},
		{"wide", files, []openaitest.Answer{{Text: "日本語のテキストは二つのセルを占めます。한국어도 마찬가지입니다. 中文也是如此，换行应该正确。\n\n| 言語 | 例 | emoji |\n|---|---|---|\n| 日本語 | こんにちは | 🎉 ok |\n| 한국어 | 안녕하세요 | 👍 ok |\n\n- é (combining: e\u0301), ñ, ü\n- 🚀 rocket, ✅ check, 👩‍💻 developer\n\nEnd."}},
			[]string{"see context", "type 你好，世界 🎉\r", "see End.", "see context", "type 日本語を入力"}},
		{"tools", files, []openaitest.Answer{{Calls: []openaitest.Call{toolCall("1", "grep_search", map[string]any{"pattern": "echo"}), toolCall("2", "read_file", map[string]any{"file_path": "$DIR/greet.sh"}),
			toolCall("3", "todo_write", map[string]any{"todos": []any{map[string]any{"id": "1", "content": "flag", "status": "completed"}, map[string]any{"id": "2", "content": "print", "status": "in_progress"}, map[string]any{"id": "3", "content": "test", "status": "pending"}}})}},
			{Calls: []openaitest.Call{shellCall("4", "printf 'ok   ./tool%s\\n' 1 2 3 4; sleep 1000")}}},
			[]string{"see context", "type run the tests\r", "see ok   ./tool4", "type and then\r", "see queued"}},
		{"diff", files, write, []string{"see context", "type fix greet.sh\r", "see y once"}},
		{"hunks", long, hunks, []string{"see context", "type fix greet.sh\r", "see y once", "calm", "type h", "see take"}},
		{"always", files, write, []string{"see context", "type fix greet.sh\r", "see y once", "calm", "type a", "see session"}},
		{"command", files, []openaitest.Answer{{Calls: []openaitest.Call{shellCall("1", "cd src && make test")}}, {Text: "Done."}},
			[]string{"see context", "type test it\r", "see y once", "calm", "type w", "see read-only"}},
		{"trial", files, []openaitest.Answer{{Calls: []openaitest.Call{shellCall("1", "sed -i s/Hello/Hi/ greet.sh && mkdir out && echo log > out/log && echo 'greet.sh: 1 line changed'")}}, {Text: "Done."}},
			[]string{"see context", "type say Hi\r", "see keep"}},
		{"trial-missed", files, []openaitest.Answer{{Calls: []openaitest.Call{shellCall("1", "curl -sS https://example.com/data > data; echo exit $?")}}, {Text: "Done."}},
			[]string{"see context", "type get the data\r", "see Esc stop"}},
		{"typing", files, []openaitest.Answer{{Calls: []openaitest.Call{shellCall("1", "rm -r build")}}, {Text: "Done."}},
			[]string{"see context", "type clean up\r", "see y once", "type and please also look at the flags in mai", "see Tab to answer"}},
		{"error", files, []openaitest.Answer{{Status: 401, Raw: `{"error":{"message":"Incorrect API key provided"}}`}}, []string{"see context", "type hello\r", "see ✗"}},
		{"files", files, nil, []string{"see context", "type look at @lis", "see › @src/list.go"}},
		{"keys", files, nil, []string{"see context", "type ?", "see new line"}},
		{"commands", files, nil, []string{"see context", "type /", "see › /"}},
	}
}

// TestPictures takes pictures of the main moments in xterm, to look at: make pictures.
func TestPictures(t *testing.T) {
	out := os.Getenv("ADZE_PICTURES")
	if out == "" {
		t.Skip("pictures are taken by make pictures")
	}
	display := ptytest.StartX(t, "xterm", "xdotool", "import", "tmux")
	for _, m := range moments() {
		for _, size := range [][2]int{{40, 24}, {80, 24}, {160, 40}} {
			t.Run(fmt.Sprintf("%s-%d", m.name, size[0]), func(t *testing.T) {
				raw := recordMoment(t, m, size[0], size[1], "black")
				light := recordMoment(t, m, size[0], size[1], "white")
				base := filepath.Join(out, fmt.Sprintf("%s-%dx%d", m.name, size[0], size[1]))
				picture(t, display, raw, base+"-dark.png", size, "gray90", "black", false)
				picture(t, display, light, base+"-light.png", size, "black", "white", false)
				if m.name == "answer" || m.name == "wide" {
					picture(t, display, raw, base+"-tmux.png", size, "gray90", "black", true)
				}
			})
		}
	}
}

// recordMoment runs the program up to a moment in a terminal with a background, and returns what it wrote.
func recordMoment(t *testing.T, m moment, columns, rows int, background string) []byte {
	t.Helper()
	trial := "off"
	if strings.HasPrefix(m.name, "trial") {
		trial = "auto"
	}
	d := newDesk(t, `{"tools":{"trial":"`+trial+`"},"permissions":{"allow":["Shell(sleep:*)","Shell(printf:*)"]},"modelPricing":{"scripted":{"input":1,"output":5}}}`)
	for name, text := range m.files {
		write(t, d.dir, name, text)
	}
	answers := []openaitest.Answer{}
	for _, a := range m.answers {
		a.Calls = slices.Clone(a.Calls)
		for j, c := range a.Calls {
			a.Calls[j].Args = json.RawMessage(strings.ReplaceAll(string(c.Args), "$DIR", d.dir))
		}
		answers = append(answers, a)
	}
	model, err := openaitest.Start(openaitest.Script{Answers: append(answers, openaitest.Answer{Text: "done"}), Repeat: true, Key: "any"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(model.Close)
	var record bytes.Buffer
	g := &glass{columns: columns, rows: rows, record: &record, around: around{background}}
	cmd := exec.Command("adze")
	cmd.Dir = d.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + d.home, "ADZE_HOME=" + d.home, "GORACE=atexit_sleep_ms=0", "ADZE_LOCAL_MODELS=off", "TERM=xterm-256color", "OPENAI_BASE_URL=" + model.URL, "OPENAI_API_KEY=any"}
	g.open(t, cmd, "")
	for _, step := range m.steps {
		verb, rest, _ := strings.Cut(step, " ")
		switch verb {
		case "see":
			g.holds(t, "the screen shows "+rest, func() bool { return strings.Contains(g.shown(), rest) })
		case "type":
			g.types(t, rest)
		case "calm":
			time.Sleep(2 * time.Second) // not synchronization: 0.4 s without a key after the question is painted, also on a slow machine
		}
	}
	time.Sleep(200 * time.Millisecond) // not synchronization: a picture for the eye, after the last key
	g.cmd.Process.Signal(syscall.SIGSTOP)
	time.Sleep(50 * time.Millisecond) // not synchronization: what the terminal still has
	return bytes.Clone(record.Bytes())
}

// picture shows bytes in xterm and takes a picture of it.
func picture(t *testing.T, display string, raw []byte, path string, size [2]int, fg, bg string, inTmux bool) {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "raw", string(raw))
	show := fmt.Sprintf("stty raw -echo; cat %s/raw; touch %s/done; sleep 1000", dir, dir)
	command := []string{"sh", "-c", show}
	if inTmux {
		command = []string{"tmux", "-S", filepath.Join(dir, "socket"), "-f", "/dev/null", "new-session", show, ";", "set-option", "status", "off"}
		defer exec.Command("tmux", "-S", filepath.Join(dir, "socket"), "kill-server").Run()
	}
	title := filepath.Base(path)
	args := append([]string{"-fa", "DejaVu Sans Mono", "-fd", "Noto Sans Mono CJK JP", "-fs", "10", "-fg", fg, "-bg", bg, "-geometry", fmt.Sprintf("%dx%d", size[0], size[1]),
		"-u8", "-class", "Adze" + strings.NewReplacer("-", "", ".", "").Replace(title), "-e"}, command...)
	cmd := exec.Command("xterm", args...)
	env := append(os.Environ(), "DISPLAY="+display, "LC_ALL=C.UTF-8")
	cmd.Env = env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); cmd.Wait() }()
	var window string
	waittest.Until(t, "the window is there", func() bool {
		if _, err := os.Stat(filepath.Join(dir, "done")); err != nil {
			return false
		}
		find := exec.Command("xdotool", "search", "--onlyvisible", "--class", "xterm|Adze")
		find.Env = env
		b, _ := find.Output()
		if len(b) > 0 {
			window = strings.Fields(string(b))[0]
		}
		return len(b) > 0
	})
	time.Sleep(300 * time.Millisecond) // not synchronization: xterm does not report that it has painted
	shot := exec.Command("import", "-window", window, path)
	shot.Env = env
	if b, err := shot.CombinedOutput(); err != nil {
		t.Fatalf("import: %v %s", err, b)
	}
}
