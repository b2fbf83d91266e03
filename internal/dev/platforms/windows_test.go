package platforms

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze/internal/dev/waittest"
	"github.com/adze-dev/adze/model/modeltest"
	"github.com/adze-dev/adze/model/openai/openaitest"
)

// windows/amd64 in wine, which isn't Windows: a feature that works here runs under wine, and no more.
func TestWindows(t *testing.T) {
	wanted(t, "windows", wine, assembler)
	m := inWine(t)
	m.open(t)
	m.run(t, "windows.txt", []story{
		{"program", true, program},
		{"file tools", true, fileTools},
		{"names", false, namesOfWindows},
		{"rules", false, rulesOfWindows},
		{"rules of file tools", false, rulesOfFileTools},
		{"-p", true, prompt},
		{"sessions", false, sessions},
		{"undo", false, undo},
		{"MCP", false, protocol},
		{"children of MCP servers", false, childrenOfServers},
		{"commands with cmd", false, cmdCommands},
		{"PowerShell as text", false, powerShellText},
		{"archive", false, archive},
	})
}

func TestWindowsLibrary(t *testing.T) {
	wanted(t, "windows", wine, assembler)
	notShort(t)
	inWine(t).test(t, windowsUnits)
}

const (
	wine      = "/usr/lib/wine/wine64"
	assembler = "x86_64-w64-mingw32-as"
)

// stub is bcryptprimitives.dll, which wine 8 doesn't have and Go needs: a call of its only function goes to another library.
const stub = "LIBRARY bcryptprimitives.dll\nEXPORTS\n ProcessPrng = advapi32.SystemFunction036\n"

// inWine returns a machine with a fresh prefix.
func inWine(t *testing.T) *machine {
	t.Helper()
	prefix := filepath.Join(t.TempDir(), "prefix")
	m := &machine{system: "windows", arch: "amd64", emulator: []string{wine}, env: []string{
		"WINEPREFIX=" + prefix, "WINEDEBUG=-all", "WINEDLLOVERRIDES=mscoree=;mshtml=;winemenubuilder.exe=",
	}}
	m.flags = []string{"-overlay=" + deletes(t)}
	do := func(dir, stdin, name string, args ...string) {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.Stdin, cmd.Env = dir, strings.NewReader(stdin), append(os.Environ(), m.env...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
		}
	}
	server := strings.TrimSuffix(wine, "64") + "server64"
	start := func(name string, args ...string) error { // without pipes, which what it starts would keep open
		cmd := exec.Command(name, args...)
		cmd.Env = append(os.Environ(), m.env...)
		return cmd.Run()
	}
	// Without -p the server ends with each program, and starts all services for the next one.
	if err := errors.Join(os.Mkdir(prefix, 0o700), start(server, "-p"), start(wine, "wineboot", "-i")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { start(server, "-k", "-w") })
	system := filepath.Join(prefix, "drive_c/windows/system32")
	do(system, "", assembler, "-o", "empty.o", os.DevNull)
	do(system, stub, "x86_64-w64-mingw32-dlltool", "-d", "/dev/stdin", "-e", "exports.o")
	do(system, "", "x86_64-w64-mingw32-ld", "-shared", "--dll", "-nostdlib", "empty.o", "exports.o", "-o", "bcryptprimitives.dll")
	// wine's PowerShell does nothing. Without it, commands run with cmd.
	if err := os.RemoveAll(filepath.Join(system, "WindowsPowerShell")); err != nil {
		t.Fatal(err)
	}
	return m
}

// deletes returns an overlay for go build: wine 8 answers "not implemented" to FileDispositionInformationEx, with which Go
// deletes files, and Go only knows the answer of old versions of Windows, "invalid class". This is the only difference from
// the program of a release.
func deletes(t *testing.T) string {
	t.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	dir, file := t.TempDir(), filepath.Join(strings.TrimSpace(string(root)), "src/internal/syscall/windows/at_windows.go")
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const old = "case STATUS_INVALID_INFO_CLASS,"
	if strings.Count(string(source), old) != 1 {
		t.Fatalf("%s: %q isn't there once: this overlay is outdated", file, old)
	}
	patched := filepath.Join(dir, "at_windows.go")
	text := strings.Replace(string(source), old, "case NTStatus(0xC0000002), STATUS_INVALID_INFO_CLASS,", 1)
	if err := os.WriteFile(patched, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	overlay, _ := json.Marshal(map[string]any{"Replace": map[string]string{file: patched}})
	path := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(path, overlay, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// namesOfWindows: tools read and write long paths, both slashes and drives; names of devices, streams and other machines are
// never written without approval.
func namesOfWindows(t *testing.T, w *workspace) {
	long := strings.Repeat("a-rather-long-directory-name/", 12) + "file.txt"
	w.ok(t, call("write_file", map[string]any{"file_path": long, "content": "x\r\n"}))
	w.holds(t, long, "x\r\n")
	w.ok(t, call("read_file", map[string]any{"absolute_path": w.native(filepath.Join(w.dir, long))}), "x")
	w.ok(t, call("glob", map[string]any{"pattern": "**/file.txt"}), "file.txt")
	for _, path := range []string{"slash/a.txt", `back\a.txt`, "Z:" + w.dir + "/drive/a.txt", strings.ToLower(w.native(w.dir)[:2]) + w.native(w.dir)[2:] + `\lower\a.txt`} {
		w.ok(t, call("write_file", map[string]any{"file_path": path, "content": "1"}))
	}
	for _, name := range []string{"slash/a.txt", "back/a.txt", "drive/a.txt", "lower/a.txt"} {
		w.holds(t, name, "1")
	}
	before := w.list(t)
	for _, path := range []string{
		"CON", "nul", "COM1.txt", "LPT1", "CONIN$", "a.txt:stream", "slash/a.txt::$DATA", `\\server\share\x.txt`, `//server/share/x.txt`, `\\?\C:\x.txt`,
		`\\.\C:\x.txt`, "C:/x.txt", "C:x.txt", `\x.txt`, "a<b", "..\\x.txt",
		".git./config", "GIT~1/config", ".git::$INDEX_ALLOCATION/config", "sub/.GIT /hooks/x",
	} {
		text, _ := json.Marshal(map[string]any{"file_path": path, "content": "x"})
		if r := w.adze(t, "tool", "call", "write_file", string(text), "--approval-mode", "auto-edit"); r.code == 0 {
			t.Errorf("%s was written without approval: %s", path, r.out)
		}
	}
	if after := w.list(t); !slices.Equal(before, after) {
		t.Errorf("%q, before %q", after, before)
	}
	w.holds(t, "slash/a.txt", "1")
}

// driveC returns the directory of the drive C:.
func (w *workspace) driveC() string {
	for _, kv := range w.env {
		if prefix, ok := strings.CutPrefix(kv, "WINEPREFIX="); ok {
			return filepath.Join(prefix, "drive_c")
		}
	}
	return ""
}

// list returns all paths of the workspace.
func (w *workspace) list(t *testing.T) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(w.dir, func(path string, _ os.DirEntry, err error) error {
		paths = append(paths, path)
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return paths
}

// rulesOfWindows: a deny rule matches a file by all its names, and commands don't read other drives without approval. Nothing
// runs: a file is in the place of Git's bash.
func rulesOfWindows(t *testing.T, w *workspace) {
	bash := filepath.Join(w.driveC(), "Program Files/Git/bin/bash.exe")
	if err := os.MkdirAll(filepath.Dir(bash), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(bash, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(filepath.Dir(filepath.Dir(bash)))
	w.write(t, "secret.txt", "s")
	w.write(t, "other.txt", "o")
	rules := []string{"--deny", "Read(/secret.txt)", "--deny", `Read(C:\Users\**)`, "--mode", "yolo"}
	check := func(line string, flags ...string) string {
		t.Helper()
		r := w.adze(t, append(append([]string{"permission", "check"}, flags...), "--", line)...)
		verdict, _, _ := strings.Cut(strings.TrimSpace(r.out), "\n")
		return verdict
	}
	for _, path := range []string{
		"secret.txt", "SECRET.Txt", "secret.txt.", "'secret.txt '", "'secret.txt::$DATA'", "secret.txt:x", `'.\secret.txt'`, "'" + w.native(w.dir) + `\secret.txt'`,
		"z:" + w.dir + "/secret.txt", "/z" + w.dir + "/secret.txt", "missing/../secret.txt",
		"C:/Users/root/x", `'C:\Users\root\x'`, "c:/USERS/x", "/c/Users/x", `'c:\users.\x'`,
	} {
		if got := check("cat "+path, rules...); got != "deny" {
			t.Errorf("cat %s with a deny rule: %s", path, got)
		}
	}
	for _, line := range []string{
		"cat C:/other/x", `cat 'D:\x'`, "cat ~/x", "grep -r KEY C:/", `ls '\\server.example\share'`, "ls //server.example/share", `cat '\\?\C:\x'`, "cat //./C:/x",
		"cat /cygdrive/c/x", "echo x > .git./hooks/y", "echo x > GIT~1/hooks/y", "echo x > CON", "cat NUL",
	} {
		if got := check(line); got != "ask" {
			t.Errorf("%s: %s", line, got)
		}
	}
	for _, line := range []string{"cat other.txt", `cat '.\other.txt'`, "cat OTHER.TXT"} {
		if got := check(line); got != "allow" {
			t.Errorf("%s: %s", line, got)
		}
	}
}

// rulesOfFileTools: a deny rule on a file holds for every tool and every name by which Windows finds the file, in the mode that
// approves the rest. Other files of the same directory can be read and written.
func rulesOfFileTools(t *testing.T, w *workspace) {
	const secret = "the content of the file"
	w.write(t, "dir/my secret.txt", secret)
	w.write(t, "dir/other.txt", "other")
	w.ok(t, []string{"config", "set", "permissions.deny", `["Read(/dir/my secret.txt)","Edit(/dir/my secret.txt)"]`})
	whole := w.native(w.dir) + `\dir\my secret.txt`
	var calls []openaitest.Call
	add := func(tool string, args map[string]any) {
		text, _ := json.Marshal(args)
		calls = append(calls, openaitest.Call{ID: fmt.Sprint("c", len(calls)), Name: tool, Args: text})
	}
	for _, path := range []string{
		"dir/my secret.txt", `dir\my secret.txt`, `DIR\My Secret.TXT`, "dir/my secret.txt.", "dir/my secret.txt ", "dir/my secret.txt. .", "dir./my secret.txt",
		"dir/my secret.txt::$DATA", "dir/my secret.txt:x", "dir/missing/../my secret.txt", "dir//my secret.txt", whole, strings.ReplaceAll(whole, `\`, "/"),
		strings.ToLower(whole[:2]) + whole[2:], `\\?\` + whole, `\\.\` + whole, `\\?\UNC\localhost\z$` + whole[2:], `\\localhost\z$` + whole[2:], whole[:2] + "dir/my secret.txt",
		"/z" + w.dir + "/dir/my secret.txt", w.dir + "/dir/my secret.txt", w.short(t, whole), `\??\` + whole,
	} {
		add("read_file", map[string]any{"absolute_path": path})
		add("read_many_files", map[string]any{"paths": []string{path}})
		add("grep_search", map[string]any{"pattern": "content", "path": path})
		add("write_file", map[string]any{"file_path": path, "content": "overwritten"})
		add("edit", map[string]any{"file_path": path, "old_string": "content", "new_string": "overwritten"})
	}
	add("grep_search", map[string]any{"pattern": "content"})
	add("read_file", map[string]any{"absolute_path": `dir\OTHER.txt`})
	add("write_file", map[string]any{"file_path": `DIR\new.txt`, "content": "new"})
	before := w.list(t)
	s := w.served(t, openaitest.Answer{Calls: calls}, openaitest.Answer{Text: "done"})
	w.ok(t, []string{"-p", "go", "--yolo"}, "done")
	body := string(s.Requests()[1].Body)
	for i, c := range calls[:len(calls)-2] {
		result := resultOf(body, c.ID)
		if strings.Contains(result, secret) || result == "" {
			t.Errorf("call %d, %s %s: %s", i, c.Name, c.Args, result)
		}
	}
	if got := resultOf(body, calls[len(calls)-2].ID); !strings.Contains(got, "other") {
		t.Errorf("other.txt: %s", got)
	}
	w.holds(t, "dir/my secret.txt", secret)
	w.holds(t, "dir/new.txt", "new")
	if after := w.list(t); len(after) != len(before)+1 {
		t.Errorf("%q, before %q", after, before)
	}
}

// resultOf returns the result of a call in a request.
func resultOf(body, id string) string {
	var request struct {
		Messages []struct {
			ID      string `json:"tool_call_id"`
			Content any    `json:"content"`
		} `json:"messages"`
	}
	json.Unmarshal([]byte(body), &request)
	for _, m := range request.Messages {
		if m.ID == id {
			text, _ := json.Marshal(m.Content)
			return string(text)
		}
	}
	return ""
}

// short returns the name of a file in 8.3 form.
func (w *workspace) short(t *testing.T, path string) string {
	t.Helper()
	cmd := w.machine.command(w.helper, "short", path)
	cmd.Env = w.environ()
	out, err := cmd.Output()
	if err != nil || !strings.Contains(string(out), "~") {
		t.Errorf("%s has no short name: %q %v", path, out, err)
	}
	return string(out)
}

// cmdCommands: without bash and PowerShell, cmd runs commands as they are written, each with approval, and a timeout ends all
// processes of one.
func cmdCommands(t *testing.T, w *workspace) {
	w.ok(t, call("run_shell_command", map[string]any{"command": `echo "a  b" & echo c`}), `"a  b"`, "c")
	w.ok(t, []string{"tool", "show", "run_shell_command"}, "a command of the shell cmd (not bash)")
	if r := w.adze(t, "demo"); r.code != 1 || !strings.Contains(r.err, "the demo's commands need bash") {
		t.Errorf("demo: %d %s%s", r.code, r.out, r.err)
	}
	for _, line := range []string{"dir", "echo hi", "echo 'hi & echo x > made.txt & rem '", `echo hi\& echo x > made.txt`} {
		text, _ := json.Marshal(map[string]any{"command": line})
		for _, mode := range []string{"default", "auto-edit", "plan"} {
			if r := w.adze(t, "tool", "call", "run_shell_command", string(text), "--approval-mode", mode); r.code == 0 {
				t.Errorf("%s ran in mode %s: %s", line, mode, r.out)
			}
		}
	}
	w.absent(t, "made.txt")

	// The parent exits at once, and its child has no other tie to the command than the job.
	log := filepath.Join(w.dir, "log")
	line := fmt.Sprintf(`"%s" parent "%s" & ping -n 600 127.0.0.1`, w.native(w.helper), w.native(log))
	w.served(t, asks("c0", "run_shell_command", map[string]any{"command": line, "timeout": 4000}), openaitest.Answer{Expect: []string{"imed out"}, Text: "done"})
	w.ok(t, []string{"-p", "go", "--yolo"}, "done")
	w.endedAfterWriting(t, log)
}

// endedAfterWriting waits until the child of a helper has ended, which has written to a log.
func (w *workspace) endedAfterWriting(t *testing.T, log string) {
	t.Helper()
	if sizeOf(log) == 0 {
		t.Error("the child didn't run")
	}
	waittest.Until(t, "the child is gone", func() bool {
		before := sizeOf(log)
		r := w.adze(t, "version") // takes longer than the child's pause
		return r.code == 0 && sizeOf(log) == before
	})
}

func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// childrenOfServers: what an MCP server starts ends with it: when Adze ends, and when Adze is killed.
func childrenOfServers(t *testing.T, w *workspace) {
	for _, killed := range []bool{false, true} {
		log := filepath.Join(w.dir, fmt.Sprint("log-", killed))
		w.ok(t, []string{"mcp", "add", "peer", w.native(w.helper), "mcp", w.native(log)})
		calls := []openaitest.Answer{
			asks("c0", "peer__echo", map[string]any{"text": "hello"}), {Expect: []string{"heard hello"}, Text: "done"},
		}
		if killed {
			calls[1].Faults = openaitest.Faults{Split: 1, Pause: modeltest.Duration(time.Minute)}
		}
		s := w.served(t, calls...)
		run := w.command("-p", "go", "--yolo")
		if err := run.Start(); err != nil {
			t.Fatal(err)
		}
		if killed {
			waittest.Until(t, "the second request", func() bool { return len(s.Requests()) == 2 })
			waittest.Until(t, "the child writes", func() bool { return sizeOf(log) > 0 })
			if err := run.Process.Kill(); err != nil {
				t.Error(err)
			}
		}
		if err := run.Wait(); (err == nil) == killed {
			t.Errorf("killed %v: %v", killed, err)
		}
		w.endedAfterWriting(t, log)
		w.ok(t, []string{"mcp", "remove", "peer"})
	}
}

// powerShellText: with Windows' own PowerShell, the prompt tells the model to write for it, and every command asks. It isn't run: wine's
// does nothing.
func powerShellText(t *testing.T, w *workspace) {
	own := filepath.Join(w.driveC(), "windows/system32/WindowsPowerShell")
	if err := os.MkdirAll(filepath.Join(own, "v1.0"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(own, "v1.0/powershell.exe"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(own)
	w.ok(t, []string{"tool", "show", "run_shell_command"}, "a command of the shell powershell (not bash)")
	w.adze(t, "permission", "check", "--", "ls").has(t, []string{"permission", "check"}, "ask", "powershell")
	w.adze(t, "doctor").has(t, []string{"doctor"}, "powershell.exe", "none: Adze has no sandbox for this system", "4 problems found")
	w.served(t,
		asks("c0", "run_shell_command", map[string]any{"command": "ls"}, "Commands run with powershell, not bash. Write them for powershell."),
		openaitest.Answer{Expect: []string{"requires approval"}, Text: "denied"})
	w.ok(t, []string{"-p", "go"}, "denied")
}
