package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/adze-dev/adze/internal/dev/fenced"
	"github.com/adze-dev/adze/internal/dev/ptytest"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
	"github.com/adze-dev/adze/model/openai/openaitest"
)

// page is a page of the documentation, and what happens when a new user follows it.
type page struct {
	answers []openaitest.Answer
	shown   []string          // what the terminal shows, in this order
	files   map[string]string // of the project in the end
	start   string            // what the user did before
}

const pageKey = "sk-your-key" // as the README has it

// answersWith returns an answer of the model to a prompt.
func answersWith(prompt, text string) openaitest.Answer {
	return openaitest.Answer{When: prompt, Text: text}
}

// callsTool returns an answer that calls a tool.
func callsTool(prompt, tool, args string) openaitest.Answer {
	return openaitest.Answer{When: prompt, Calls: []openaitest.Call{{Name: tool, Args: []byte(args)}}}
}

// replacing returns the answers that read a file and replace a text in it.
func replacing(prompt, file, old, text string) []openaitest.Answer {
	return []openaitest.Answer{
		callsTool(prompt, "read_file", fmt.Sprintf(`{"absolute_path":%q}`, file)),
		callsTool(prompt, "edit", fmt.Sprintf(`{"file_path":%q,"old_string":%q,"new_string":%q}`, file, old, text)),
	}
}

func joined(lists ...[]openaitest.Answer) (all []openaitest.Answer) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

// pagesIn returns the pages, with a project in a directory.
func pagesIn(dir string) map[string]page {
	readme, code := filepath.Join(dir, "README.md"), filepath.Join(dir, "main.go")
	inProject := "export OPENAI_API_KEY=" + pageKey + "\ncd my-project\n"
	return map[string]page{
		"README.md": {
			answers: joined(
				[]openaitest.Answer{answersWith("what does this project do?", "It prints a greeting.")},
				replacing("fix the typo in README.md", readme, "teh", "the"),
				[]openaitest.Answer{answersWith("fix the typo in README.md", "Fixed the typo.")},
				[]openaitest.Answer{callsTool("fix it again, and explain it", "read_file", fmt.Sprintf(`{"absolute_path":%q}`, readme))},
				replacing("fix it again, and explain it", readme, "teh", "the")[1:],
				[]openaitest.Answer{
					answersWith("fix it again, and explain it", "It said teh."),
					answersWith("write a commit message for this", "readme: fix a typo"),
				}),
			shown: []string{"No problems found", "It prints a greeting.", "-Prints teh greeting", "Allow? [", "Fixed the typo.", "restore", "README.md", "[y/N]", "Allow? [", "It said teh.",
				"readme: fix a typo"},
			files: map[string]string{"README.md": "Prints the greeting.\n"},
		},
		"docs/guide.md": {
			answers: joined(
				[]openaitest.Answer{
					answersWith("what does main.go print?", "It prints Hello."), answersWith("compare @main.go with @README.md", "They agree."), answersWith("summarize these changes", "One commit."),
				},
				replacing("make main.go print Hello, world", code, `"Hello"`, `"Hello, world"`),
				[]openaitest.Answer{
					answersWith("make main.go print Hello, world", "It prints Hello, world now."),
					callsTool("add a line to NOTES.md", "write_file", fmt.Sprintf(`{"file_path":%q,"content":"a line\n"}`, filepath.Join(dir, "NOTES.md"))),
					answersWith("add a line to NOTES.md", "Added."),
					callsTool("format the code", "run_shell_command", `{"command":"gofmt -w main.go"}`),
					answersWith("format the code", "Formatted."),
					answersWith("how would you add a flag for the name?", "With package flag."),
					callsTool("and now in French", "run_shell_command", `{"command":"printf 'Bonjour\\n' > fr.txt"}`),
					answersWith("and now in French", "Done."),
					answersWith("Explain main.go in one sentence.", "It greets."),
					answersWith("list the risks of the last commit", "None."),
					callsTool("is there a license file?", "structured_output", `{"license":false}`),
				}),
			shown: []string{"It prints Hello.", "They agree.", "One commit.", "Allow? [", "main.go | 2 +-", "Added.", "Formatted.", "With package flag.", "Done.", "fr.txt", "go vet",
				"reviewer", "release", "It greets.", "mcp.example.com", `{"license":false}`},
			files: map[string]string{"NOTES.md": "a line\n", "fr.txt": "Bonjour\n", "review.json": `"result":"None."`},
			start: inProject,
		},
		"docs/permissions.md": {shown: []string{"Shell(sudo)"}, start: inProject},
		"docs/settings.md": {
			answers: []openaitest.Answer{callsTool("How many Go files are here?", "structured_output", `{"files":1}`)},
			shown:   []string{"default", `{"files":1}`}, files: map[string]string{"settings.schema.json": "approvalMode"}, start: inProject,
		},
	}
}

// A new user follows a page: all its commands run as printed, in order, in one shell at a terminal, with an empty home
// directory and a scripted model. Blocks that other tests run name them.
func TestPages(t *testing.T) {
	t.Parallel()
	for name := range pagesIn("") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			followPage(t, name, nil)
		})
	}
}

// A new user follows the README from the clone on: an ordinary user with an empty home directory, who has nothing but Go and
// its caches, runs all its commands with the program that they install.
func TestFreshClone(t *testing.T) {
	if os.Getenv("ADZE_RELEASE") == "" {
		t.Skip("builds the program: run make test-release")
	}
	repository, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	env := []string{
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=url." + repository + ".insteadOf", "GIT_CONFIG_VALUE_0=https://github.com/adze-dev/adze", "GOTOOLCHAIN=local", "GOPATH=",
		"GOFLAGS=-trimpath -tags=nethttpomithttp2 -gcflags=github.com/adze-dev/adze/internal/app/...=-l", // other clones have compiled the same
	}
	for _, name := range []string{"GOMODCACHE", "GOCACHE", "GOPROXY"} {
		value, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		env = append(env, name+"="+strings.TrimSpace(string(value)))
	}
	own, err := exec.LookPath("adze") // that of the tests, which a new user doesn't have
	if err != nil {
		t.Fatal(err)
	}
	path := slices.DeleteFunc(filepath.SplitList(os.Getenv("PATH")), func(dir string) bool { return dir == filepath.Dir(own) })
	followPage(t, "README.md", append(env, "PATH="+strings.Join(path, ":")))
}

// followPage runs the commands of a page. With an environment, those that install the program are run too.
func followPage(t *testing.T, name string, fresh []string) {
	home := t.TempDir()
	dir := filepath.Join(home, "my-project")
	p := pagesIn(dir)[name]
	blocks, err := fenced.Read(filepath.Join("..", "..", name))
	if err != nil {
		t.Fatal(err)
	}
	server := openaitest.Serve(t, openaitest.Script{Key: pageKey, Answers: p.answers})
	env := append(os.Environ(), "HOME="+home, "ADZE_HOME=", "OPENAI_API_KEY=", "ANTHROPIC_API_KEY=", "GEMINI_API_KEY=", "GOOGLE_API_KEY=", "OPENAI_MODEL=", "OPENAI_BASE_URL="+server.URL,
		"ADZE_LOCAL_MODELS=off", "TERM=xterm", "GIT_PAGER=cat", "GIT_CONFIG_GLOBAL=/dev/null", "GORACE=atexit_sleep_ms=0")
	script := "set -eo pipefail\n" + p.start
	if !sandbox.Probe().Layers().Has(sandbox.Landlock | sandbox.Seccomp | sandbox.Namespaces) {
		script += "adze() { command adze \"$@\" || [ \"$1\" = doctor ]; }\n" // doctor reports what is missing
	}
	newProject(t, dir, env)
	installs := 0
	for _, b := range blocks {
		text := b.Text
		switch {
		case b.Language != "sh":
			continue
		case fresh != nil && b.Note == "tested by TestFreshClone in cmd/adze": // TestTerminal/demo has the demo on the screen
			text, installs = strings.Replace(text, "adze demo", "adze demo </dev/null", 1)+"cd ~\n", installs+1
		case !runsHere(t, name, b):
			continue
		}
		script += fmt.Sprintf("echo '@ %s:%d'\n%s", name, b.Line, text)
	}
	if fresh != nil && installs != 1 {
		t.Errorf("%s has %d blocks for TestFreshClone", name, installs)
	}
	shown := atTerminal(t, home, append(env, fresh...), script)
	if fresh == nil {
		checkVerdicts(t, dir, env, blocks)
	}
	rest := shown
	for _, want := range p.shown {
		i := strings.Index(rest, want)
		if i < 0 {
			t.Fatalf("the terminal doesn't show %q here:\n%s\nall of it:\n%s", want, rest, shown)
		}
		rest = rest[i+len(want):]
	}
	for file, want := range p.files {
		if text, err := os.ReadFile(filepath.Join(dir, file)); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: got %q (%v), want %q", file, text, err, want)
		}
	}
}

// runsHere reports whether a block is run by this test: others name the test that does, or limitations.md.
func runsHere(t *testing.T, name string, b fenced.Block) bool {
	t.Helper()
	if b.Note == "" {
		return true
	}
	if strings.HasPrefix(b.Note, "untested:") {
		limits, err := os.ReadFile("../../docs/limitations.md")
		if err != nil || !strings.Contains(string(limits), "Homebrew") {
			t.Errorf("%s:%d is untested, and limitations.md doesn't say so (%v)", name, b.Line, err)
		}
		return false
	}
	m := regexp.MustCompile(`^tested by (Test\w+) in (\S+)$`).FindStringSubmatch(b.Note)
	if m == nil {
		t.Fatalf("%s:%d: unknown note %q", name, b.Line, b.Note)
	}
	files, err := filepath.Glob(filepath.Join("..", "..", m[2], "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if code, err := os.ReadFile(file); err == nil && strings.Contains(string(code), "func "+m[1]+"(t *testing.T)") {
			return false
		}
	}
	t.Errorf("%s:%d: there is no %s in %s", name, b.Line, m[1], m[2])
	return false
}

// newProject makes the project that pages are tried in.
func newProject(t *testing.T, dir string, env []string) {
	t.Helper()
	for name, text := range map[string]string{
		"README.md": "Prints teh greeting.\n",
		"main.go":   "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(\"Hello\") }\n",
		"go.mod":    "module example.com/greet\n\ngo 1.26\n",
	} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("bash", "-c", "git init -q && git add . && git -c user.name=a -c user.email=a@example.com commit -qm 'first commit'")
	cmd.Dir, cmd.Env = dir, env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// atTerminal runs a script of bash at a terminal, answers y to every question, and returns what the terminal shows.
func atTerminal(t *testing.T, dir string, env []string, script string) string {
	t.Helper()
	terminal := ptytest.Open(t)
	cmd := exec.Command("bash", "-c", script)
	cmd.Dir, cmd.Env = dir, env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal.TTY, terminal.TTY, terminal.TTY
	cmd.SysProcAttr = ordinaryUser()
	cmd.SysProcAttr.Setsid, cmd.SysProcAttr.Setctty = true, true
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	questions := regexp.MustCompile(`\[y/[^\]]*\] `)
	deadline := time.NewTimer(15 * time.Minute)
	defer deadline.Stop()
	for answered := 0; ; {
		select {
		case err := <-done:
			terminal.End()
			if err != nil {
				t.Fatalf("%v:\n%s", err, terminal.Shown())
			}
			return terminal.Shown()
		case <-deadline.C:
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			<-done
			t.Fatalf("it didn't end:\n%s", terminal.Shown())
		case <-time.After(20 * time.Millisecond):
			if asked := len(questions.FindAllString(terminal.Raw(), -1)); asked > answered {
				answered++
				terminal.Type("y\r")
			}
		}
	}
}

// ordinaryUser makes a child of root an ordinary user: in a user namespace, without capabilities, as the owner of root's files.
func ordinaryUser() *syscall.SysProcAttr {
	if os.Getuid() != 0 {
		return &syscall.SysProcAttr{}
	}
	root := []syscall.SysProcIDMap{{ContainerID: 1000, HostID: 0, Size: 1}}
	return &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWUSER, UidMappings: root, GidMappings: root,
		Credential: &syscall.Credential{Uid: 1000, Gid: 1000, NoSetGroups: true},
	}
}

// checkVerdicts compares the comments behind the page's permission checks with the decisions, in the order of the page.
func checkVerdicts(t *testing.T, dir string, env []string, blocks []fenced.Block) {
	t.Helper()
	line := regexp.MustCompile(`(?m)^(adze permission check .*?)\s+# (allow|try|ask|deny)\b`)
	for _, b := range blocks {
		for _, m := range line.FindAllStringSubmatch(b.Text, -1) {
			cmd := exec.Command("bash", "-c", m[1])
			cmd.Dir, cmd.Env = dir, env
			out, err := cmd.CombinedOutput()
			code := map[string]int{"ask": 3, "deny": 4}[m[2]]
			if verdict, _, _ := strings.Cut(string(out), "\n"); verdict != m[2] || cmd.ProcessState.ExitCode() != code {
				t.Errorf("%s: got %q (%v), and the page says %s, exit code %d:\n%s", m[1], verdict, err, m[2], code, out)
			}
		}
	}
}
