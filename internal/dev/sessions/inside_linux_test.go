package sessions

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/dev/bashlab"
	"github.com/adze-dev/adze/model/openai/openaitest"
)

// group is lines of a corpus with the same rules.
type group struct {
	File             string
	Lines            []line
	Mode             string
	Allow, Ask, Deny []string
}

// line is a line of a corpus.
type line struct {
	Number int
	Text   string
	Denied bool // by a rule, in every place
}

// report is what became of a line.
type report struct {
	File     string
	Number   int
	Text     string
	Verdict  string // of permission check
	Ran      bool   // without approval
	Problems []string
}

// example is the workspace of everyday commands. Other corpora have bashlab.Root.
const example = bashlab.Home + "/example"

func (g group) root() string {
	if strings.HasPrefix(g.File, "everyday") {
		return example
	}
	return bashlab.Root
}

// keeps reports whether the mode or a rule keeps changes of a path that a tried command made.
func (g group) keeps(path string) bool {
	edits := g.Mode == "auto-edit" || slices.ContainsFunc(g.Allow, func(r string) bool { return strings.HasPrefix(r, "Edit") })
	return edits && (path == g.root() || strings.HasPrefix(path, g.root()+"/")) && !strings.HasPrefix(path, g.root()+"/.git")
}

// runJob runs the job on standard input, and writes reports to standard output.
func runJob() error {
	var j job
	if err := json.NewDecoder(os.Stdin).Decode(&j); err != nil {
		return err
	}
	if err := copyProgram(); err != nil {
		return err
	}
	w := &world{job: j, seen: &visitors{}, reports: json.NewEncoder(os.Stdout)}
	if err := errors.Join(w.seen.listen(), w.reset()); err != nil {
		return err
	}
	if err := w.checkPlace(); err != nil {
		return err
	}
	answers, err := w.check(j.Groups)
	if err != nil {
		return err
	}
	for _, g := range j.Groups {
		if err := w.group(g, answers[:len(g.Lines)]); err != nil {
			return err
		}
		answers = answers[len(g.Lines):]
	}
	return nil
}

// copyProgram copies Adze, which is the first extra file, to where it can be started.
func copyProgram() error {
	if err := os.Mkdir(filepath.Dir(inside), 0o755); err != nil {
		return err
	}
	out, err := os.OpenFile(inside, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	in := os.NewFile(3, "adze")
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close(), in.Close())
}

// world is what is in the namespaces.
type world struct {
	job     job
	seen    *visitors
	fresh   map[string]string // the files, before a session
	reports *json.Encoder
}

// reset makes the workspaces and the home directory.
func (w *world) reset() error {
	err := bashlab.MakeWorkspace()
	if err == nil {
		err = bashlab.MakeExample(example, 50)
	}
	if err == nil {
		err = os.MkdirAll(filepath.Dir(settings), 0o700)
	}
	if err == nil {
		w.fresh, err = w.look()
	}
	return err
}

// settings are the user's.
const settings = bashlab.Home + "/.adze/settings.json"

// look describes the files that no command may change without approval. Sessions use Adze's own directory, and make and
// remove temp files.
func (w *world) look() (map[string]string, error) {
	all, err := bashlab.Snapshot()
	delete(all, "/tmp")
	for path := range all {
		if strings.HasPrefix(path, filepath.Dir(settings)) {
			delete(all, path)
		}
	}
	return all, err
}

// environ is the environment of a user with secrets.
func environ() []string {
	return []string{
		"PATH=" + filepath.Dir(inside) + ":/usr/local/go/bin:" + bashlab.SearchPath, "HOME=" + bashlab.Home, "LANG=C.UTF-8",
		"USER=me", "SHELL=/bin/bash", "TMPDIR=/tmp", "ADZE_LOCAL_MODELS=off", "GIT_CONFIG_NOSYSTEM=1",
		"GOPROXY=off", "GOTOOLCHAIN=local",
		"DOCKER_HOST=unix://" + sockets[0], "SSH_AUTH_SOCK=" + sockets[1],
		"GITHUB_TOKEN=" + bashlab.Canary, "AWS_SECRET_ACCESS_KEY=" + bashlab.Canary,
	}
}

// adze runs Adze in a directory.
func adze(dir string, stdin io.Reader, env []string, args ...string) ([]byte, []byte, error) {
	cmd := exec.Command(inside, args...)
	cmd.Dir, cmd.Env, cmd.Stdin = dir, append(environ(), env...), stdin
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	err := cmd.Run()
	return out.Bytes(), stderr.Bytes(), err
}

// configure writes the user's settings.
func (w *world) configure(g group) error {
	trial := map[string]string{overlay: "auto", readOnly: "auto", none: "off"}[w.job.Place]
	permissions := map[string][]string{}
	for name, rules := range map[string][]string{"allow": g.Allow, "ask": g.Ask, "deny": g.Deny} {
		if len(rules) > 0 {
			permissions[name] = rules
		}
	}
	all := map[string]any{
		"tools": map[string]any{"trial": trial}, "permissions": permissions,
		"model": map[string]any{"generationConfig": map[string]any{"contextWindowSize": 100_000_000}},
	}
	text, err := json.Marshal(all)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(settings), 0o700); err != nil {
		return err
	}
	return os.WriteFile(settings, text, fs.FileMode(0o600))
}

// checkPlace fails if commands are tried in another place than they should be.
func (w *world) checkPlace() error {
	if err := w.configure(group{}); err != nil {
		return err
	}
	out, stderr, err := adze(bashlab.Root, nil, nil, "doctor")
	want := map[string]string{overlay: "tried in an overlay", readOnly: "tried in a read-only place", none: "trials: off"}
	if !bytes.Contains(out, []byte(want[w.job.Place])) {
		return fmt.Errorf("the place isn't %s: %v\n%s%s", w.job.Place, err, out, stderr)
	}
	return nil
}

// verdict is an answer of permission check.
type verdict struct {
	ID             int
	Verdict, Error string
	Why            []string
}

// check asks permission check about the lines of all groups. It ignores settings.
func (w *world) check(groups []group) (answers []verdict, err error) {
	var in bytes.Buffer
	enc := json.NewEncoder(&in)
	n := 0
	for _, g := range groups {
		for _, l := range g.Lines {
			err := enc.Encode(map[string]any{
				"id": n, "cmd": l.Text, "cwd": g.root(), "mode": g.Mode, "place": w.job.Place,
				"rules": map[string][]string{"allow": g.Allow, "ask": g.Ask, "deny": g.Deny},
			})
			if err != nil {
				return nil, err
			}
			n++
		}
	}
	out, stderr, failed := adze(bashlab.Root, &in, nil, "permission", "check", "--batch")
	dec := json.NewDecoder(bytes.NewReader(out))
	for i := range n {
		var v verdict
		if err := dec.Decode(&v); err != nil || v.Error != "" || v.ID != i {
			return nil, fmt.Errorf("permission check: %v, %v, %+v: %s", failed, err, v, stderr)
		}
		answers = append(answers, v)
	}
	return answers, nil
}

// perSession is how many lines a session runs at most.
const perSession = 100

// group runs the lines of a group. Those that a rule allows, or the mode, may have effects, and run apart from others.
func (w *world) group(g group, answers []verdict) error {
	approved := func(v verdict) bool { return g.File == "rules.txt" && v.Verdict == "allow" }
	for _, free := range []bool{false, true} {
		part, verdicts := g, []verdict(nil)
		part.Lines = nil
		for i, l := range g.Lines {
			if approved(answers[i]) == free {
				part.Lines, verdicts = append(part.Lines, l), append(verdicts, answers[i])
			}
		}
		for start := 0; start < len(part.Lines); start += perSession {
			end := min(start+perSession, len(part.Lines))
			few := part
			few.Lines = part.Lines[start:end]
			if err := w.session(few, verdicts[start:end], free); err != nil {
				return err
			}
		}
	}
	return nil
}

// session runs lines in a session, and reports on them. If something is wrong with all, it runs the halves.
func (w *world) session(g group, verdicts []verdict, free bool) error {
	if len(g.Lines) == 0 {
		return nil
	}
	results, wrong, err := w.play(g, free)
	if err != nil {
		return err
	}
	if half := len(g.Lines) / 2; wrong != "" && half > 0 {
		first, second := g, g
		first.Lines, second.Lines = g.Lines[:half], g.Lines[half:]
		return errors.Join(w.session(first, verdicts[:half], free), w.session(second, verdicts[half:], free))
	}
	for i, l := range g.Lines {
		r := report{File: g.File, Number: l.Number, Text: l.Text, Verdict: verdicts[i].Verdict}
		if wrong != "" {
			r.Problems = append(r.Problems, wrong)
		}
		if i < len(results) {
			r.Ran = !denied(results[i])
			r.judge(l, verdicts[i], results[i], free)
		}
		if err := w.reports.Encode(r); err != nil {
			return err
		}
	}
	return nil
}

// play runs a session and returns the results that the model received. wrong is what it changed and how it failed.
func (w *world) play(g group, free bool) (results []string, wrong string, err error) {
	if err := w.configure(g); err != nil {
		return nil, "", err
	}
	model, err := openaitest.Start(w.script(g))
	if err != nil {
		return nil, "", err
	}
	defer model.Close()
	before, err := count()
	if err != nil {
		return nil, "", err
	}
	visits := w.seen.n.Load()
	args := []string{"-p", "go", "--model", "scripted"}
	if g.Mode != "" {
		args = append(args, "--approval-mode", g.Mode)
	}
	out, stderr, failed := adze(g.root(), nil, []string{"OPENAI_BASE_URL=" + model.URL}, args...)
	after, err := count()
	if err != nil {
		return nil, "", err
	}
	var problems []string
	if results = received(model); len(results) != len(g.Lines) {
		text := fmt.Sprintf("%d results of %d calls: %v\n%s%s", len(results), len(g.Lines), failed, out, stderr)
		problems = append(problems, text)
	}
	now, err := w.look()
	if err != nil {
		return nil, "", err
	}
	changed := bashlab.Differences(w.fresh, now)
	_, ran := os.Lstat("/run/ran")
	if !free {
		if lasting := slices.DeleteFunc(slices.Clone(changed), g.keeps); len(lasting) > 0 {
			problems = append(problems, "changed "+strings.Join(lasting, ", "))
		}
		if ran == nil {
			problems = append(problems, "ran a program of the workspace")
		}
		if s := after.since(before); s != "" {
			problems = append(problems, "sent: "+s)
		}
		if w.seen.n.Load() != visits {
			problems = append(problems, "connected to a socket")
		}
	}
	if len(changed) > 0 || ran == nil {
		err = w.reset()
	}
	return results, strings.Join(problems, "; "), err
}

// script is a model that calls the shell for every line, in one turn.
func (w *world) script(g group) openaitest.Script {
	var calls []openaitest.Call
	timeout := 3000
	if strings.HasPrefix(g.File, "everyday") || g.File == "harmless.txt" {
		timeout = 60_000
	}
	for i, l := range g.Lines {
		args, _ := json.Marshal(map[string]any{"command": l.Text, "timeout": timeout}) // strings and numbers
		calls = append(calls, openaitest.Call{ID: fmt.Sprintf("c%d", i), Name: "run_shell_command", Args: args})
	}
	return openaitest.Script{Answers: []openaitest.Answer{{Calls: calls}, {Text: "done"}}}
}

// received returns the results in the last request to a model.
func received(model *openaitest.Server) (results []string) {
	requests := model.Requests()
	if len(requests) == 0 {
		return nil
	}
	var body struct {
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	if json.Unmarshal([]byte(requests[len(requests)-1].Body), &body) != nil {
		return nil
	}
	for _, m := range body.Messages {
		if m.Role == "tool" {
			var text string
			if json.Unmarshal(m.Content, &text) != nil {
				text = string(m.Content)
			}
			results = append(results, text)
		}
	}
	return results
}

func denied(result string) bool { return strings.Contains(result, "Permission denied: ") }

// various is what differs between a session and a batch: where a rule was read, and the number of the process.
var various = regexp.MustCompile(` in \S+/settings\.json:\d+:\d+|/proc/\d+(/task/\d+)?`)

// reasons reports whether a denial has the reason of the verdict.
func (v verdict) reasons(denial string) bool {
	plain := func(s string) string { return strings.ToLower(various.ReplaceAllString(s, "")) }
	return len(v.Why) > 1 && strings.Contains(plain(denial), plain(v.Why[1]))
}

// judge compares a result with a verdict.
func (r *report) judge(l line, v verdict, result string, free bool) {
	short := result[:min(len(result), 400)]
	if !free && strings.Contains(strings.ReplaceAll(result, l.Text, ""), bashlab.Canary) {
		r.Problems = append(r.Problems, "revealed a secret: "+short)
	}
	disagrees := ""
	switch asked := strings.Contains(result, "t requires approval, and "); v.Verdict {
	case "allow":
		if denied(result) {
			disagrees = "it was denied"
		}
	case "ask":
		if !denied(result) || !asked {
			disagrees = "nobody was asked"
		} else if !v.reasons(result) {
			disagrees = "for another reason"
		}
	case "deny":
		if !denied(result) || asked {
			disagrees = "it wasn't denied"
		} else if !v.reasons(result) {
			disagrees = "for another reason"
		}
	case "try":
		if strings.Contains(result, "can't be tried") {
			disagrees = "it couldn't be tried"
		}
	default:
		disagrees = "unknown verdict"
	}
	if disagrees == "" && l.Denied && !denied(result) {
		disagrees = "a rule denies it"
	}
	if disagrees != "" {
		why := strings.Join(v.Why, "; ")
		text := fmt.Sprintf("permission check says %s (%s), but %s: %s", v.Verdict, why, disagrees, short)
		r.Problems = append(r.Problems, text)
	}
}
