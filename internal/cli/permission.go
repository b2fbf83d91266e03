package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/internal/settings"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/permission/ondisk"
	"github.com/adze-dev/adze/tool"
)

// setRules gives the policy the rules that settings hold. One that cannot be read stops the start if it forbids.
func (s *session) setRules(env Env) error {
	p := s.settings.Permissions
	rules, ignored, err := permission.ParseRules(texts(p.Allow), texts(p.Ask), texts(p.Deny))
	if err != nil {
		return exitf(exitSettings, "read the rules in settings: %v", err)
	}
	for _, problem := range ignored {
		fmt.Fprintf(env.Stderr, "adze: %v\n", problem)
	}
	s.policy.SetRules(rules)
	return nil
}

// checker judges commands and calls without doing anything.
type checker struct {
	env  Env
	o    *options
	home string
}

// permissionCheck explains a verdict.
func permissionCheck(ctx context.Context, env Env, o *options, words []string) error {
	home, err := settings.Home(env.Getenv, env.Home)
	if err != nil {
		return err
	}
	c := &checker{env, o, home}
	if o.batch {
		if err := takes(words, 0, "permission check --batch < questions.jsonl"); err != nil {
			return err
		}
		return c.batch(ctx)
	}
	if err := takes(words, 1, "permission check [FLAGS] -- 'COMMAND'"); err != nil {
		return err
	}
	return c.one(words[0])
}

// one judges a command with the rules of settings and of the line.
func (c *checker) one(command string) error {
	dir, err := workingDir(c.env, c.o.cwd)
	if err != nil {
		return err
	}
	s, _, err := loadSettings(c.env, settings.Sources{UserHome: c.env.Home, AdzeHome: c.home, Project: dir, Getenv: c.env.Getenv})
	if err != nil {
		return err
	}
	q := checkLine{Cmd: &command, Cwd: dir}
	q.Mode = s.Tools.ApprovalMode
	if c.o.checkMode != "" {
		q.Mode = c.o.checkMode
	}
	q.Rules.Allow = append(texts(s.Permissions.Allow), c.o.allow...)
	q.Rules.Ask = append(texts(s.Permissions.Ask), c.o.ask...)
	q.Rules.Deny = append(texts(s.Permissions.Deny), c.o.deny...)
	d, why, err := c.judge(context.Background(), q)
	if err != nil {
		return exitf(exitInput, "%v", err)
	}
	if c.o.json {
		return printJSON(c.env.Stdout, verdict{Verdict: d.Verdict.String(), Why: why, Offer: d.Offer})
	}
	fmt.Fprintf(c.env.Stdout, "%s\n", d.Verdict)
	for _, w := range why {
		fmt.Fprintf(c.env.Stdout, "  %s\n", tool.Visible(w))
	}
	if d.Verdict == tool.Ask && len(d.Offer) > 0 {
		fmt.Fprintf(c.env.Stdout, "smallest rule that would allow it: %s\n", tool.Visible(d.Offer[0]))
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

// batch answers line by line, each out before the next is read. It reads no settings, asks nobody, changes nothing.
func (c *checker) batch(ctx context.Context) error {
	lines := newLineReader(c.env.Stdin)
	for number := 1; ; number++ {
		line, err := lines.next(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case ctx.Err() != nil:
			return exitf(exitInterrupted, "interrupted")
		case err != nil && !errors.Is(err, errLongLine):
			return fmt.Errorf("read questions from stdin: %w", err)
		case err == nil && len(bytes.TrimSpace(line)) == 0:
			continue
		}
		if err := printJSON(c.env.Stdout, c.answer(ctx, line, number, err)); err != nil {
			return err
		}
	}
}

func (c *checker) answer(ctx context.Context, line []byte, number int, err error) verdict {
	q := checkLine{}
	if err == nil {
		err = json.Unmarshal(line, &q)
	}
	v := verdict{ID: q.ID}
	if len(v.ID) == 0 {
		v.ID = json.RawMessage(fmt.Sprint(number))
	}
	var d tool.Decision
	if err == nil {
		d, v.Why, err = c.judge(ctx, q)
	}
	if err != nil {
		v.Error = fmt.Sprintf("line %d: %v", number, err)
		return v
	}
	v.Verdict = d.Verdict.String()
	if v.Why == nil {
		v.Why = []string{}
	}
	return v
}

func (c *checker) judge(ctx context.Context, q checkLine) (tool.Decision, []string, error) {
	mode := permission.Mode(q.Mode)
	if q.Mode == "" {
		mode = permission.Mode(c.o.checkMode)
	}
	if mode == "" {
		mode = permission.Default
	}
	if _, err := permission.ParseMode(string(mode)); err != nil {
		return tool.Decision{}, nil, err
	}
	rules, _, err := permission.ParseRules(q.Rules.Allow, q.Rules.Ask, q.Rules.Deny)
	if err != nil {
		return tool.Decision{}, nil, err
	}
	dir := c.env.Dir
	if q.Cwd != "" {
		dir = absolute(c.env.Dir, []string{q.Cwd})[0]
	}
	dir = canonical(filepath.Clean(dir))
	r, err := c.request(ctx, q, dir)
	if err != nil {
		return tool.Decision{}, nil, err
	}
	world := permission.World{
		Roots: []string{dir}, Home: canonical(c.env.Home), State: canonical(c.home),
		Spill: filepath.Join(canonical(c.home), "spill"), Disk: ondisk.New([]string{dir}),
	}
	d, why := permission.Check(world, rules, mode, permission.Options{NoReadOnly: c.o.noReadOnly}, r)
	return d, why, nil
}

// request is the call that the question is about.
func (c *checker) request(ctx context.Context, q checkLine, dir string) (tool.Request, error) {
	if (q.Cmd == nil) == (q.Tool == "") {
		return tool.Request{}, errors.New(`expected either "cmd" or "tool" and "args"`)
	}
	call := tool.Call{Name: q.Tool, Args: q.Args}
	set, err := builtin.New(builtin.Options{Dir: existing(dir), AllRead: true})
	if err != nil {
		return tool.Request{}, err
	}
	defer set.Close()
	registry := tool.NewRegistry(set.Tools()...)
	if q.Cmd != nil {
		d, err := shellDeclaration(registry)
		return tool.Request{
			Call: tool.Call{Name: d.Name}, Declaration: d,
			Invocation: tool.Invocation{
				Description: "run a command", Access: []tool.Access{{Verb: tool.Execs, Target: *q.Cmd}},
				Confirm: tool.Command{Line: *q.Cmd, Directory: dir},
			},
		}, err
	}
	all := &tool.Executor{Registry: registry, Policy: func(tool.Request) tool.Decision { return tool.Decision{Verdict: tool.Allow} }}
	r, _, err := all.Preview(ctx, call)
	if err != nil && len(r.Access) == 0 {
		return tool.Request{}, err
	}
	return r, nil
}

// shellDeclaration is the tool that runs commands, as the registry tells it.
func shellDeclaration(r *tool.Registry) (tool.Declaration, error) {
	for _, d := range r.All() {
		if d.Kind == tool.Execute && d.Origin == "" {
			return d, nil
		}
	}
	return tool.Declaration{}, errors.New("there is no tool that runs commands")
}

// existing is the nearest folder that is there.
func existing(dir string) string {
	for {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return real
		}
		dir = filepath.Dir(dir)
	}
}
