package platforms

import (
	"archive/zip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adze-dev/adze/internal/dev/waittest"
	"github.com/adze-dev/adze/model/modeltest"
	"github.com/adze-dev/adze/model/openai/openaitest"
)

// program: the binary starts, and says what it is.
func program(t *testing.T, w *workspace) {
	w.ok(t, []string{"version"}, "adze v9.8.7")
	w.ok(t, []string{"version", "--json"}, `"platform":"`+w.system+"/"+w.arch+`"`)
	w.ok(t, []string{"tool", "list"}, "read_file", "run_shell_command")
	w.ok(t, []string{"help"}, "open a conversation")
	w.ok(t, []string{"config", "set", "tools.approvalMode", "plan"})
	w.ok(t, []string{"config", "get", "tools.approvalMode"}, "plan")
	doctor := []string{"doctor"}
	r := w.adze(t, doctor...)
	r.has(t, doctor, w.system+"/"+w.arch, "approval mode: plan", "sandbox", "no model configured")
	if r.code != 1 || strings.Contains(r.out+r.err, "panic") {
		t.Errorf("doctor: exit code %d\n%s%s", r.code, r.out, r.err)
	}
}

// fileTools: tools change files byte for byte, and keep line endings.
func fileTools(t *testing.T, w *workspace) {
	path := func(name string) string { return w.native(filepath.Join(w.dir, name)) }
	w.write(t, "src/crlf.txt", "one\r\ntwo\r\nthree\r\n")
	w.write(t, "src/bom.txt", "\ufeffgrüß\r\n")
	w.write(t, ".gitignore", "*.log\n")
	w.write(t, "src/a.log", "needle")
	w.ok(t, call("read_file", map[string]any{"absolute_path": path("src/crlf.txt")}), "two")
	w.ok(t, call("edit", map[string]any{"file_path": path("src/crlf.txt"), "old_string": "one\ntwo", "new_string": "one\n2"}))
	w.holds(t, "src/crlf.txt", "one\r\n2\r\nthree\r\n")
	w.ok(t, call("edit", map[string]any{"file_path": "src/bom.txt", "old_string": "grüß", "new_string": "gruß"}))
	w.holds(t, "src/bom.txt", "\ufeffgruß\r\n")
	w.ok(t, call("write_file", map[string]any{"file_path": path("new/deep/file.txt"), "content": "needle\n"}))
	w.holds(t, "new/deep/file.txt", "needle\n")
	found := w.ok(t, call("grep_search", map[string]any{"pattern": "needle"}), "file.txt")
	if strings.Contains(found, "a.log") {
		t.Errorf("an ignored file is searched:\n%s", found)
	}
	w.ok(t, call("glob", map[string]any{"pattern": "src/**/*.txt"}), "crlf.txt", "bom.txt")
	w.ok(t, call("list_directory", map[string]any{"path": path("src")}), "crlf.txt")
	w.ok(t, call("read_many_files", map[string]any{"paths": []string{"src/*.txt"}}), "three", "gruß")
	w.ok(t, call("apply_patch", map[string]any{"input": "*** Begin Patch\n*** Update File: src/crlf.txt\n@@\n-2\n+zwei\n*** Delete File: src/bom.txt\n*** End Patch\n"}))
	w.holds(t, "src/crlf.txt", "one\r\nzwei\r\nthree\r\n")
	w.absent(t, "src/bom.txt")
	outside := w.adze(t, "tool", "call", "write_file", fmt.Sprintf(`{"file_path":%q,"content":"x"}`, w.native(filepath.Join(w.home, "out.txt"))))
	if _, err := os.Lstat(filepath.Join(w.home, "out.txt")); outside.code == 0 || err == nil {
		t.Errorf("a file outside was written without approval: %s%s", outside.out, outside.err)
	}
}

// served starts a scripted model.
func (w *workspace) served(t *testing.T, answers ...openaitest.Answer) *openaitest.Server {
	t.Helper()
	s := openaitest.Serve(t, openaitest.Script{Answers: answers, Key: "k"})
	w.more = []string{"OPENAI_BASE_URL=" + s.URL, "OPENAI_API_KEY=k", "OPENAI_MODEL=scripted"}
	return s
}

// asks is an answer with one call.
func asks(id, tool string, args map[string]any, expect ...string) openaitest.Answer {
	text, _ := json.Marshal(args)
	return openaitest.Answer{Calls: []openaitest.Call{{ID: id, Name: tool, Args: text}}, Expect: expect}
}

// prompt: -p runs calls of a model; without a user, what needs approval is denied.
func prompt(t *testing.T, w *workspace) {
	w.write(t, "a.txt", "one\n")
	w.served(t,
		asks("c0", "read_file", map[string]any{"absolute_path": w.native(filepath.Join(w.dir, "a.txt"))}, "what is in a?", "You are Adze"),
		asks("c1", "write_file", map[string]any{"file_path": "b.txt", "content": "no"}, `one\n`),
		openaitest.Answer{Expect: []string{"requires approval"}, Text: "a holds one"})
	w.ok(t, []string{"-p", "what is in a?"}, "a holds one")
	w.absent(t, "b.txt")
	w.served(t, asks("c0", "write_file", map[string]any{"file_path": "b.txt", "content": "yes\n"}), openaitest.Answer{Text: "done"})
	w.ok(t, []string{"-p", "write b", "--yolo"}, "done")
	w.holds(t, "b.txt", "yes\n")
}

// sessions: one that is killed is continued, and calls that ran don't run again.
func sessions(t *testing.T, w *workspace) {
	s := w.served(t,
		asks("c0", "write_file", map[string]any{"file_path": "once.txt", "content": "1"}, "begin"),
		openaitest.Answer{Text: "never arrives whole", Faults: openaitest.Faults{Split: 1, Pause: modeltest.Duration(time.Minute)}},
		openaitest.Answer{Expect: []string{"begin", `"tool_call_id":"c0"`, "and now?"}, Text: "continued"},
		openaitest.Answer{Expect: []string{"begin", "and now?", "once more?"}, Text: "a copy"})
	run := w.command("-p", "begin", "--yolo")
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the second request", func() bool { return len(s.Requests()) == 2 })
	w.holds(t, "once.txt", "1")
	if err := run.Process.Kill(); err != nil {
		t.Error(err)
	}
	run.Wait()
	if err := os.Remove(filepath.Join(w.dir, "once.txt")); err != nil {
		t.Error(err)
	}
	w.ok(t, []string{"-c", "-p", "and now?"}, "continued")
	w.absent(t, "once.txt")
	w.ok(t, []string{"session", "list", "--json"}, `"title":"begin"`)
	w.ok(t, []string{"-c", "--fork-session", "-p", "once more?"}, "a copy")
	w.ok(t, []string{"session", "list", "--json"}, `"parent"`)
}

// undo: what calls changed is restored byte for byte.
func undo(t *testing.T, w *workspace) {
	w.write(t, "a.txt", "one\r\ntwo\r\n")
	w.served(t,
		asks("r0", "read_file", map[string]any{"absolute_path": "a.txt"}),
		asks("c0", "edit", map[string]any{"file_path": "a.txt", "old_string": "two", "new_string": "2"}),
		asks("c1", "write_file", map[string]any{"file_path": "new/b.txt", "content": "b"}),
		openaitest.Answer{Text: "done"})
	w.ok(t, []string{"-p", "change", "--yolo"}, "done")
	w.holds(t, "a.txt", "one\r\n2\r\n")
	w.ok(t, []string{"undo", "--dry-run"}, "delete")
	w.ok(t, []string{"undo", "--yes"})
	w.absent(t, "new/b.txt")
	w.ok(t, []string{"undo", "--yes"}, "restore")
	w.holds(t, "a.txt", "one\r\ntwo\r\n")
	w.ok(t, []string{"redo", "--yes"})
	w.holds(t, "a.txt", "one\r\n2\r\n")
}

// protocol: Adze calls a tool of an MCP server over stdio, and is one.
func protocol(t *testing.T, w *workspace) {
	w.write(t, "a.txt", "one\n")
	words := append(append([]string{}, w.emulator...), w.helper)
	if w.system == "windows" {
		words = []string{w.native(w.helper)}
	}
	w.ok(t, append([]string{"mcp", "add", "peer"}, append(words, "mcp")...))
	w.ok(t, []string{"mcp", "list"}, "peer", "ready")
	w.ok(t, call("peer__echo", map[string]any{"text": "hello"}), "heard hello")
	w.ok(t, []string{"mcp", "remove", "peer"})

	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: w.command("mcp", "serve")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	read, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "read_file", Arguments: map[string]any{"absolute_path": w.native(filepath.Join(w.dir, "a.txt"))}})
	if text, _ := json.Marshal(read); err != nil || read.IsError || !strings.Contains(string(text), "one") {
		t.Errorf("%s %v", text, err)
	}
	wrote, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "write_file", Arguments: map[string]any{"file_path": "b.txt", "content": "x"}})
	if err != nil || !wrote.IsError { // this client can't ask the user
		t.Errorf("%+v %v", wrote, err)
	}
	w.absent(t, "b.txt")
	if err := session.Close(); err != nil && !errors.Is(err, io.EOF) && !strings.Contains(err.Error(), "signal: killed") {
		t.Error(err)
	}
}

// archive: the file of a release has programs that start.
func archive(t *testing.T, w *workspace) {
	dist, name := t.TempDir(), "adze_"+w.system+"_"+w.arch
	build := exec.Command("go", "run", "./internal/dev/release", "-version", "v9.8.7", "-targets", w.system+"/"+w.arch, "-out", dist)
	build.Dir = "../../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	unpacked, program := t.TempDir(), "adze"
	if w.system == "windows" {
		program = "adze.exe"
		z, err := zip.OpenReader(filepath.Join(dist, name+".zip"))
		if err == nil {
			err = errors.Join(os.CopyFS(unpacked, z), z.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	} else if out, err := exec.Command("tar", "xzf", filepath.Join(dist, name+".tar.gz"), "-C", unpacked).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	installed := *w.machine
	installed.bin = filepath.Join(unpacked, program)
	w.machine = &installed
	w.ok(t, []string{"version"}, "adze v9.8.7")
	if w.system == "windows" { // in qemu, a program can't start another one of its platform
		w.ok(t, []string{"fleet", "version"}, "adze-fleet v9.8.7")
	}
}
