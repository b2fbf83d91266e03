package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/rules"
	"github.com/adze-dev/adze/internal/app/session"
	"github.com/adze-dev/adze/internal/app/settings"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/proc"
	"github.com/adze-dev/adze/internal/engine/secretfiles"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/permission/ondisk"
	"github.com/adze-dev/adze/tool"
)

// checker judges commands and calls without doing anything.
type checker struct {
	env  Env
	o    *options
	home string // Adze's
	user string // the user's, canonical

	// The tools of the last directory: most questions are about the same one.
	dir      string
	registry *tool.Registry
	set      *builtin.Set

	secrets func(dir string) func() ([]string, bool)
	place   func() permission.Place // where commands run that were not approved
}

// permissionCheck explains a verdict.
func permissionCheck(ctx context.Context, env Env, o *options, words []string) error {
	home, err := settings.Home(env.Getenv, env.Home)
	if err != nil {
		return err
	}
	if o.tryMode != "" {
		if _, err := permission.ParseMode(o.tryMode); err != nil {
			return usagef("--mode: %v", err)
		}
	}
	c := &checker{env: env, o: o, secrets: secretsIn, home: project.Canonical(home), user: project.Canonical(env.Home)}
	c.place = sync.OnceValue(func() permission.Place {
		r := proc.Open(proc.Options{Helper: env.Helper})
		defer r.Close()
		if r.CanLimit(false) != nil {
			return permission.None
		}
		return permission.Overlay
	})
	defer c.close()
	if o.batch {
		if err := takes(words, 0, "permission check --batch < questions.jsonl"); err != nil {
			return err
		}
		// It reads no settings, asks for no approval and changes nothing: the result depends on the line alone.
		return eachLine(ctx, env, "questions", func(line []byte, number int, bad error) ([]byte, error) {
			return c.answer(ctx, line, number, bad)
		})
	}
	if err := takes(words, 1, "permission check [FLAGS] -- 'COMMAND'"); err != nil {
		return err
	}
	return c.one(ctx, words[0])
}

func (c *checker) close() {
	if c.set != nil {
		_ = c.set.Close() // nothing was run
	}
}

// one judges a command with the rules of settings and of the line.
func (c *checker) one(ctx context.Context, command string) error {
	// it warns about settings and rules that have no effect
	opened, err := openSession(c.env, c.o, session.Options{SingleCall: true})
	if err != nil {
		return err
	}
	defer closeSession(c.env, opened)
	s := opened.Settings
	q := checkLine{Cmd: &command, Cwd: opened.Directory.Path}
	q.Mode = s.Tools.ApprovalMode
	if c.o.tryMode != "" {
		q.Mode = c.o.tryMode
	}
	q.Rules.Allow = append(settings.Texts(s.Permissions.Allow), c.o.allow...)
	q.Rules.Ask = append(settings.Texts(s.Permissions.Ask), c.o.ask...)
	q.Rules.Deny = append(settings.Texts(rules.Denied(s)), c.o.deny...)
	q.tools = s.Tools
	c.place, c.secrets = opened.Place, func(string) func() ([]string, bool) { return opened.Tools.Secrets }
	d, why, err := c.judge(ctx, q)
	if err != nil {
		return exitf(exitInput, "%v", err)
	}
	if c.o.json {
		if err := printJSON(c.env.Stdout, verdict{Verdict: permission.Word(d), Why: why, Offer: d.Offer}); err != nil {
			return err
		}
		return checked(d)
	}
	fmt.Fprintf(c.env.Stdout, "%s\n", permission.Word(d))
	for _, w := range why {
		fmt.Fprintf(c.env.Stdout, "  %s\n", tool.Visible(w))
	}
	return checked(d)
}

// checked returns the exit code for a decision.
func checked(d tool.Decision) error {
	switch permission.Word(d) {
	case "ask":
		return exitf(exitAsk, "")
	case "deny":
		return exitf(exitDeny, "")
	}
	return nil
}

// checkLine is one line of a batch.
type checkLine struct {
	ID    json.RawMessage `json:"id"`
	Cmd   *string         `json:"cmd"`
	Tool  string          `json:"tool"`
	Args  json.RawMessage `json:"args"`
	Cwd   string          `json:"cwd"`
	Mode  string          `json:"mode"`
	Place string          `json:"place"` // overlay, read-only or none; "": as on this machine
	tools settings.Tools  // restricts tools; the zero value doesn't
	Rules struct {
		Allow []string `json:"allow"`
		Ask   []string `json:"ask"`
		Deny  []string `json:"deny"`
	} `json:"rules"`
}

type verdict struct {
	ID      json.RawMessage `json:"id,omitempty"`
	Verdict string          `json:"verdict,omitempty"`
	Why     []string        `json:"why,omitempty"`
	Offer   []string        `json:"offer,omitempty"`
	Error   string          `json:"error,omitempty"`
}

// answer judges one line of a batch.
func (c *checker) answer(ctx context.Context, line []byte, number int, bad error) ([]byte, error) {
	q := checkLine{}
	if bad == nil {
		bad = json.Unmarshal(line, &q)
	}
	v := verdict{ID: q.ID}
	if bad != nil && len(v.ID) == 0 {
		v.ID = idOf(line)
	}
	if len(v.ID) == 0 {
		v.ID = json.RawMessage(fmt.Sprint(number))
	}
	if bad != nil {
		v.Error = fmt.Sprintf(`line %d: invalid question: %s; expected {"id":…,"cmd":"…","rules":{"allow":[…],"ask":[…],"deny":[…]},"cwd":"…","mode":"…"}`, number, plainJSONError(bad))
		return humanize.JSON(v)
	}
	d, why, err := c.judge(ctx, q)
	if err != nil {
		v.Error = fmt.Sprintf("line %d: %v", number, err)
		return humanize.JSON(v)
	}
	v.Verdict, v.Why = permission.Word(d), why
	return humanize.JSON(v)
}

// idOf is the id of a line that breaks off behind it; nil without one.
func idOf(line []byte) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(line))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil
		}
		if key == "id" {
			return value
		}
	}
	return nil
}

// plainJSONError says what is wrong with a line in the words of the line, not of this program.
func plainJSONError(err error) string {
	var typed *json.UnmarshalTypeError
	if !errors.As(err, &typed) {
		return err.Error()
	}
	if typed.Field == "" {
		return "got a JSON " + typed.Value
	}
	return fmt.Sprintf("%q can't be a JSON %s", typed.Field, typed.Value)
}

func (c *checker) judge(ctx context.Context, q checkLine) (tool.Decision, []string, error) {
	name := q.Mode
	if name == "" {
		name = c.o.tryMode
	}
	mode := permission.Default
	var err error
	if name != "" {
		if mode, err = permission.ParseMode(name); err != nil {
			return tool.Decision{}, nil, err
		}
	}
	parsed, ignored, err := permission.ParseRules(q.Rules.Allow, q.Rules.Ask, q.Rules.Deny)
	if err != nil {
		return tool.Decision{}, nil, err
	}
	dir := c.env.Dir
	if q.Cwd != "" {
		dir = absolute(c.env.Dir, []string{q.Cwd})[0]
	}
	dir = project.Canonical(filepath.Clean(dir))
	r, err := c.request(ctx, q, dir)
	if err != nil {
		return tool.Decision{}, nil, err
	}
	place, err := c.placeOf(q)
	if err != nil {
		return tool.Decision{}, nil, err
	}
	world := permission.World{
		Roots: []string{dir}, Home: c.user, State: c.home, Spill: filepath.Join(c.home, "spill"),
		Disk:  ondisk.New([]string{dir}),
		Place: place, Secrets: c.secrets(dir), Network: true,
	}
	restricted, err := rules.Restricted(q.tools, world, r)
	if err != nil || restricted.Verdict == tool.Deny {
		return restricted, []string{restricted.Why()}, err
	}
	d, why := permission.Check(world, parsed, mode, permission.Options{OnlyRules: c.o.noReadOnly}, r)
	for _, problem := range ignored {
		why = append(why, "ignored: "+problem.Error())
	}
	return d, why, nil
}

// placeOf returns where the command of a question would run.
func (c *checker) placeOf(q checkLine) (func() permission.Place, error) {
	if q.Place == "" {
		return c.place, nil
	}
	for _, p := range []permission.Place{permission.None, permission.ReadOnly, permission.Overlay} {
		if p.String() == q.Place {
			return func() permission.Place { return p }, nil
		}
	}
	return nil, fmt.Errorf("unknown place %q (expected overlay, read-only or none)", q.Place)
}

// secretsIn returns the secret files of a directory.
func secretsIn(dir string) func() ([]string, bool) {
	return func() ([]string, bool) {
		finder := secretfiles.New(secretfiles.Options{Roots: []string{dir}})
		defer finder.Close()
		return finder.List(secretsWait)
	}
}

// secretsWait is how long a check searches for secret files.
const secretsWait = 10 * time.Second

// request is the call that the question is about.
func (c *checker) request(ctx context.Context, q checkLine, dir string) (tool.Request, error) {
	if (q.Cmd == nil) == (q.Tool == "") {
		return tool.Request{}, errors.New(`expected either "cmd" or "tool" and "args"`)
	}
	if q.Cmd != nil && c.registry != nil {
		// which tool runs commands does not depend on the directory
		return commandRequest(c.registry, *q.Cmd, c.set.OtherShell(), dir)
	}
	if err := c.work(dir); err != nil {
		return tool.Request{}, err
	}
	if q.Cmd != nil {
		return commandRequest(c.registry, *q.Cmd, c.set.OtherShell(), dir)
	}
	all := &tool.Executor{
		Registry: c.registry, Policy: func(tool.Request) tool.Decision { return tool.Decision{Verdict: tool.Allow} },
	}
	r, _, err := all.Preview(ctx, tool.Call{Name: q.Tool, Args: q.Args})
	if err != nil && len(r.Access) == 0 {
		return tool.Request{}, err
	}
	return r, nil
}

// work makes the tools of a directory, which need not exist.
func (c *checker) work(dir string) error {
	if c.registry != nil && c.dir == dir {
		return nil
	}
	set, err := builtin.New(builtin.Options{Dir: dir, Imagined: true, AllRead: true})
	if err != nil {
		return err
	}
	c.close()
	c.dir, c.set, c.registry = dir, set, tool.NewRegistry(set.All()...)
	return nil
}

// commandRequest is a call of the tool that runs commands.
func commandRequest(registry *tool.Registry, line, shell, dir string) (tool.Request, error) {
	d, err := session.Shell(registry)
	return tool.Request{
		Call: tool.Call{Name: d.Name}, Declaration: d,
		Invocation: tool.Invocation{
			Description: "run a command", Access: []tool.Access{{Verb: tool.Execs, Target: line}},
			Confirm: tool.Command{Line: line, Shell: shell, Directory: dir},
		},
	}, err
}
