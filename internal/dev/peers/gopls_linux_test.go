package peers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/adze-dev/adze/internal/dev/waittest"
)

// goplsDesk is Adze with gopls in a copy of this repository.
func goplsDesk(t *testing.T) *program {
	t.Helper()
	if testing.Short() {
		t.Skip("gopls on this whole repository takes minutes: make test-peers does it")
	}
	a := adze(t)
	program, err := goplsProgram()
	if err != nil {
		t.Fatal(err)
	}
	home, err := os.UserHomeDir() // the sandbox lets commands read the module cache in the user's home
	if err != nil {
		t.Fatal(err)
	}
	a.env = append(a.env, "PATH="+filepath.Dir(program)+":"+os.Getenv("PATH"), "HOME="+home, "GOFLAGS=")
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	list := exec.Command("git", "ls-files", "-z")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		info, err := os.Lstat(filepath.Join(root, name))
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		content, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		a.write(name, string(content))
	}
	if err := os.Remove(filepath.Join(a.home, "settings.json")); err != nil { // of adze: it turns trials off
		t.Fatal(err)
	}
	return a
}

func (p *program) write(name, text string) {
	p.t.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// driven is a session of adze -p whose model is the test.
type driven struct {
	t       *testing.T
	calls   chan object
	results chan string
	ended   chan struct{}
	end     func()
	polls   int
}

func (p *program) drive() *driven {
	p.t.Helper()
	d := &driven{t: p.t, calls: make(chan object), results: make(chan string), ended: make(chan struct{})}
	d.end = sync.OnceFunc(func() {
		close(d.calls)
		<-d.ended
	})
	server := httptest.NewServer(http.HandlerFunc(d.serve))
	p.t.Cleanup(server.Close)
	cmd := p.command("-p", "go", "--yolo")
	cmd.Env = append(p.env, "OPENAI_BASE_URL="+server.URL, "OPENAI_API_KEY=", "OPENAI_MODEL=m", "ADZE_LOCAL_MODELS=off")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	go func() {
		defer close(d.ended)
		if err := cmd.Wait(); err != nil {
			p.t.Errorf("adze -p: %v\n%s", err, out.String())
		}
	}()
	p.t.Cleanup(d.end)
	return d
}

// serve answers a request with the next call, and without one with a text.
func (d *driven) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if r.Method == http.MethodGet {
		io.WriteString(w, `{"data":[{"id":"m"}]}`)
		return
	}
	var q struct {
		Messages []struct {
			Role    string
			Content any
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		d.t.Error(err)
	}
	if last := q.Messages[len(q.Messages)-1]; last.Role == "tool" {
		d.results <- fmt.Sprint(last.Content)
	}
	message := object{"role": "assistant", "content": "done"}
	if call, ok := <-d.calls; ok {
		message = object{"role": "assistant", "tool_calls": []object{{"id": fmt.Sprint("c", rand.Int()), "type": "function", "function": call}}}
	}
	json.NewEncoder(w).Encode(object{"choices": []object{{"index": 0, "finish_reason": "stop", "message": message}}})
}

// call makes a call, and returns its result.
func (d *driven) call(name string, args object) string {
	d.t.Helper()
	text, err := json.Marshal(args)
	if err != nil {
		d.t.Fatal(err)
	}
	select {
	case d.calls <- object{"name": name, "arguments": string(text)}:
	case <-d.ended:
		d.t.Fatal("adze has ended")
	}
	select {
	case result := <-d.results:
		return result
	case <-d.ended:
		d.t.Fatal("adze has ended")
	}
	return ""
}

// answer makes a call until the language server is ready.
func (d *driven) answer(name string, args object) (text string) {
	d.t.Helper()
	waittest.Until(d.t, "the language server answers", func() bool {
		text = d.call(name, args)
		if strings.HasPrefix(text, "No answer yet") {
			d.poll()
			return false
		}
		return true
	})
	return text
}

// poll makes a call without any effect. No two are the same, because a model that repeats itself is stopped.
func (d *driven) poll() string {
	d.polls++
	return d.call("run_shell_command", object{"command": fmt.Sprint("echo ", d.polls)})
}

// account compares what results say about diagnostics with what is there.
type account struct {
	t        *testing.T
	reported map[string]bool // according to results
	actual   map[string]bool
}

// take reads a result: what is new must be there, and not be known; what is gone must have been known.
func (k *account) take(text string) {
	k.t.Helper()
	_, text, ok := strings.Cut(text, "[diagnostics] ")
	if !ok {
		return
	}
	fixed := false
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "]"), "\n") {
		switch {
		case line == "New since this change:":
		case line == "No longer reported:":
			fixed = true
		case fixed == k.actual[line], fixed != k.reported[line]:
			k.t.Errorf("%q (gone: %v) is wrong or stale; there are %v, and %v were reported", line, fixed, k.actual, k.reported)
		case fixed:
			delete(k.reported, line)
		default:
			k.reported[line] = true
		}
	}
}

// 200 changes of files of this repository, by edits and by commands, each introduces or removes an error: results have exactly
// what changed, and nothing stale.
func TestGoplsDiagnostics(t *testing.T) {
	a := goplsDesk(t)
	var files []string
	for _, dir := range []string{"humanize", "shellwords", "table", "sorted", "lazy"} {
		names, err := filepath.Glob(filepath.Join(a.dir, "internal/engine", dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range names {
			if text, err := os.ReadFile(path); err != nil || os.WriteFile(path, append(text, "\n// end\n"...), 0o644) != nil {
				t.Fatal(err)
			}
			files = append(files, path)
		}
	}
	s := a.drive()
	for _, path := range files {
		s.call("read_file", object{"absolute_path": path})
	}
	s.answer("code", object{"operation": "diagnostics", "file_path": files[0]})
	k := account{t, map[string]bool{}, map[string]bool{}}
	inErr := map[string]string{} // the line with the error, by file
	r := rand.New(rand.NewPCG(4, 5))
	const changes = 200
	late := 0
	for i := range changes {
		path := files[r.IntN(len(files))]
		old, now := "// end", fmt.Sprintf("var broken%d string = %d // end", i, i)
		rel, err := filepath.Rel(a.dir, path)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		message := func(line string) string {
			number := strings.Fields(line)[4]
			return fmt.Sprintf("%s:%d: error: cannot use %s (untyped int constant) as string value in variable declaration", rel,
				strings.Count(string(text), "\n"), number)
		}
		if was := inErr[path]; was != "" {
			old, now = was, "// end"
			delete(k.actual, message(was))
			delete(inErr, path)
		} else {
			inErr[path] = now
			k.actual[message(now)] = true
		}
		var result string
		if len(filepath.Base(path))%2 == 0 { // always the same way: an edit requires that the file was read since a command changed it
			result = s.call("run_shell_command", object{"command": fmt.Sprintf("sed -i 's|^%s$|%s|' %s", old, now, rel)})
		} else {
			result = s.call("edit", object{"file_path": path, "old_string": "\n" + old + "\n", "new_string": "\n" + now + "\n"})
		}
		if text, err := os.ReadFile(path); err != nil || !strings.HasSuffix(string(text), "\n"+now+"\n") {
			t.Fatal(err, result)
		}
		k.take(result)
		if !maps.Equal(k.actual, k.reported) {
			late++
		}
		if i%7 == 0 && i < changes-1 {
			continue // the next change comes before what is late
		}
		waittest.Until(t, fmt.Sprintf("change %d is reported: %v, %v", i, k.actual, k.reported), func() bool {
			if !maps.Equal(k.actual, k.reported) {
				k.take(s.poll())
			}
			return maps.Equal(k.actual, k.reported) || t.Failed()
		})
		if t.Failed() {
			t.FailNow()
		}
	}
	t.Logf("%d changes of %d files; what changed was in a later result %d times", changes, len(files), late)
}

// place is an identifier in a file.
type place struct {
	path         string
	line, column int // in bytes, from 1
	name         string
}

// places returns some identifiers of the repository, always the same ones.
func (p *program) places(n int) (out []place) {
	p.t.Helper()
	set := token.NewFileSet()
	err := filepath.WalkDir(p.dir, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(p.dir, path)
		if err != nil || d.IsDir() && (d.Name() == "testdata" || d.Name() == "fleet" || d.Name() == "otherloop") {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(path) != ".go" || strings.Count(rel, "_") > 0 {
			return nil
		}
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && len(id.Name) > 3 && id != file.Name && types.Universe.Lookup(id.Name) == nil {
				at := set.Position(id.Pos())
				out = append(out, place{path, at.Line, at.Column, id.Name})
			}
			return true
		})
		return nil
	})
	if err != nil {
		p.t.Fatal(err)
	}
	rand.New(rand.NewPCG(6, 7)).Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out[:n]
}

// args returns the arguments of a call of code.
func (p place) args(t *testing.T, operation string) object {
	text, err := os.ReadFile(p.path)
	if err != nil {
		t.Fatal(err)
	}
	line := strings.Split(string(text), "\n")[p.line-1]
	before := regexp.MustCompile(`\b`+regexp.QuoteMeta(p.name)+`\b`).FindAllString(line[:p.column-1+len(p.name)], -1)
	return object{"operation": operation, "file_path": p.path, "line": p.line, "name": fmt.Sprintf("%s#%d", p.name, len(before))}
}

// found returns the files and lines that a result of code lists.
func found(text string) (out []string) {
	path := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		number, _, _ := strings.Cut(line, ":")
		if _, err := strconv.Atoi(number); err == nil {
			out = append(out, path+":"+number)
		} else if strings.HasPrefix(line, "/") {
			path = line
		}
	}
	return out
}

var goplsPlace = regexp.MustCompile(`(?m)^(?:.* )?(/[^:\n]+):(\d+):\d+`)

// Definitions and references are those that gopls' own command line finds.
func TestGoplsAnswers(t *testing.T) {
	a := goplsDesk(t)
	program, err := goplsProgram()
	if err != nil {
		t.Fatal(err)
	}
	// The command line and the server share nothing but this daemon's memory, which saves it from reading the project 60 times.
	socket := "unix;" + filepath.Join(a.home, "socket")
	daemon := exec.Command(program, "serve", "-listen="+socket)
	daemon.Env, daemon.Dir = a.env, a.dir
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		daemon.Process.Kill()
		daemon.Wait()
	})
	waittest.Until(t, "gopls listens", func() bool { _, err := os.Stat(filepath.Join(a.home, "socket")); return err == nil })
	commandLine := func(operation, position string) (out []string) {
		args := []string{"-remote=" + socket, operation}
		if operation == "references" {
			args = append(args, "-d")
		}
		cmd := exec.Command(program, append(args, position)...)
		cmd.Env, cmd.Dir = a.env, a.dir
		text, err := cmd.Output()
		if err != nil {
			return []string{"error"}
		}
		for _, m := range goplsPlace.FindAllStringSubmatch(string(text), -1) {
			if one := m[1] + ":" + m[2]; strings.HasPrefix(one, a.dir+"/") && !slices.Contains(out, one) {
				out = append(out, one)
			}
		}
		return out
	}
	s := a.toolRun()
	for i, p := range a.places(30) {
		for _, operation := range []string{"definition", "references"} {
			if operation == "references" && i%3 != 0 {
				continue
			}
			want := commandLine(operation, fmt.Sprintf("%s:%d:%d", p.path, p.line, p.column))
			args := p.args(t, operation)
			text := s.answer("code", args)
			got := found(text)
			slices.Sort(got)
			slices.Sort(want)
			if strings.Contains(text, "more lines omitted]") { // a long answer is cut
				want = slices.DeleteFunc(want, func(one string) bool { return !slices.Contains(got, one) })
			}
			if !slices.Equal(got, want) {
				t.Errorf("%v:\n%q, and gopls says\n%q", args, got, want)
			}
		}
	}
}

// A rename of an exported name over the repository compiles, and is undone byte for byte.
func TestGoplsRename(t *testing.T) {
	a := goplsDesk(t)
	before := a.contents()
	s := a.drive()
	args := object{"operation": "definition", "file_path": "internal/engine/humanize/humanize.go", "name": "Seconds"}
	s.answer("code", args)
	args["operation"], args["new_name"] = "rename", "WholeSeconds"
	if text := s.call("code", args); !strings.Contains(text, " changed:\n") {
		t.Error(text)
	}
	s.end()
	changed := 0
	for name, text := range a.contents() {
		if text != before[name] {
			changed++
			if want := strings.ReplaceAll(before[name], "Seconds(", "WholeSeconds("); text != want && strings.Contains(name, "internal/app") {
				t.Errorf("%s is\n%s", name, text)
			}
		}
	}
	if changed < 5 {
		t.Errorf("%d files changed", changed)
	}
	build := exec.Command("go", "vet", "./internal/engine/humanize", "./internal/app/console", "./internal/app/tui")
	build.Dir, build.Env = a.dir, append(os.Environ(), "GOFLAGS=-trimpath", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Errorf("after the rename: %v\n%s", err, out)
	}
	a.must("undo", "--all", "--yes")
	if after := a.contents(); !maps.Equal(before, after) {
		for name, text := range after {
			if text != before[name] {
				t.Errorf("after undo, %s differs", name)
			}
		}
	}
	t.Logf("%d files changed", changed)
}

// contents returns the contents and modes of all files of the project.
func (p *program) contents() map[string]string {
	p.t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(p.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		all[path] = info.Mode().String() + string(text)
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return all
}

// A definition and the diagnostics after an edit cost at most 50 ms more than the server itself takes. Here they may take ten
// times as long, on a busy machine.
func TestGoplsLatency(t *testing.T) {
	a := goplsDesk(t)
	program, err := goplsProgram()
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(a.home, "requests")
	a.settings(filepath.Join(a.home, "settings.json"), object{
		"tools": object{"sandbox": "off"}, "lsp": object{"unsandboxed": true, "servers": object{
			"gopls": object{"command": []string{self, goplsTimer, program, log}}}}})
	a.env = append(a.env, "PATH="+os.Getenv("PATH"))
	path := filepath.Join(a.dir, "internal/engine/humanize/humanize.go")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	a.write("internal/engine/humanize/humanize.go", string(text)+"\n// end\n")
	definition := object{"operation": "definition", "file_path": path, "line": 33, "name": "Number"}
	s := a.toolRun()
	s.answer("code", definition)
	s.call("read_file", object{"absolute_path": path})
	costs := map[string][]time.Duration{}
	timed := func(name string, args object) string {
		began := time.Now()
		text := s.call(name, args)
		ended := time.Now()
		costs[name] = append(costs[name], ended.Sub(began)-serverTime(t, log, began, ended))
		return text
	}
	for i := range 21 {
		if text := timed("code", definition); !strings.Contains(text, "func Number[") {
			t.Fatal(text)
		}
		old, now := "\n// end", "\nvar broken string = 1 // end"
		if i%2 == 1 {
			old, now = now, old
		}
		timed("edit", object{"file_path": path, "old_string": old, "new_string": now})
	}
	for name, list := range costs {
		slices.Sort(list)
		median := list[len(list)/2]
		t.Logf("%s: more than gopls took: least %v, median %v, most %v", name, list[0], median, list[len(list)-1])
		if median > 500*time.Millisecond {
			t.Errorf("%s takes %v more than gopls", name, median)
		}
	}
}

// serverTime returns how long the server took for requests in some time.
func serverTime(t *testing.T, log string, began, ended time.Time) (sum time.Duration) {
	t.Helper()
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var from, to int64
		if _, err := fmt.Sscan(line, &from, &to); err != nil {
			t.Fatal(err)
		}
		if from >= began.UnixNano() && to <= ended.UnixNano() {
			sum += time.Duration(to - from)
		}
	}
	return sum
}
