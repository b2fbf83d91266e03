// Package check judges commands and calls without doing anything.
package check

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/rules"
	"github.com/adze-dev/adze/internal/app/session"
	"github.com/adze-dev/adze/internal/app/settings"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/secretfiles"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/permission/ondisk"
	"github.com/adze-dev/adze/tool"
)

// Checker answers questions about calls.
type Checker struct {
	Dir       string // of questions without one
	Home      string // Adze's
	User      string // the user's, canonical
	Mode      string // of questions without one
	OnlyRules bool   // as if every command changed something

	Secrets func(dir string) func() ([]string, bool)
	Place   func() permission.Place // where commands run that were not approved

	// The tools of the last directory: most questions are about the same one.
	dir      string
	registry *tool.Registry
	set      *builtin.Set
}

// Close removes what the last question needed.
func (c *Checker) Close() {
	if c.set != nil {
		_ = c.set.Close() // nothing was run
	}
}

// Question is about a command, or about a call of a tool.
type Question struct {
	ID    json.RawMessage `json:"id"`
	Cmd   *string         `json:"cmd"`
	Tool  string          `json:"tool"`
	Args  json.RawMessage `json:"args"`
	Cwd   string          `json:"cwd"`
	Mode  string          `json:"mode"`
	Place string          `json:"place"` // overlay, read-only or none; "": as on this machine
	Tools settings.Tools  `json:"-"`     // restricts tools; the zero value doesn't
	Rules struct {
		Allow []string `json:"allow"`
		Ask   []string `json:"ask"`
		Deny  []string `json:"deny"`
	} `json:"rules"`
}

// Verdict is the answer to one.
type Verdict struct {
	ID      json.RawMessage `json:"id,omitempty"`
	Verdict string          `json:"verdict,omitempty"`
	Why     []string        `json:"why,omitempty"`
	Offer   []string        `json:"offer,omitempty"`
	Error   string          `json:"error,omitempty"`
}

// Line answers a question on a line of JSON. bad is what is wrong with the line.
func (c *Checker) Line(ctx context.Context, line []byte, number int, bad error) ([]byte, error) {
	q := Question{}
	if bad == nil {
		bad = json.Unmarshal(line, &q)
	}
	v := Verdict{ID: q.ID}
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
	d, why, err := c.Judge(ctx, q)
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

// Judge returns what is done with a call, and what decided that.
func (c *Checker) Judge(ctx context.Context, q Question) (tool.Decision, []string, error) {
	mode := permission.Default
	var err error
	if name := cmp.Or(q.Mode, c.Mode); name != "" {
		if mode, err = permission.ParseMode(name); err != nil {
			return tool.Decision{}, nil, err
		}
	}
	parsed, ignored, err := permission.ParseRules(q.Rules.Allow, q.Rules.Ask, q.Rules.Deny)
	if err != nil {
		return tool.Decision{}, nil, err
	}
	dir := q.Cwd
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(c.Dir, dir)
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
		Roots: []string{dir}, Home: c.User, State: c.Home, Spill: filepath.Join(c.Home, "spill"),
		Disk:  ondisk.New([]string{dir}),
		Place: place, Secrets: c.Secrets(dir), Network: true,
	}
	restricted, err := rules.Restricted(q.Tools, world, r)
	if err != nil || restricted.Verdict == tool.Deny {
		return restricted, []string{restricted.Why()}, err
	}
	d, why := permission.Check(world, parsed, mode, permission.Options{OnlyRules: c.OnlyRules}, r)
	for _, problem := range ignored {
		why = append(why, "ignored: "+problem.Error())
	}
	return d, why, nil
}

// placeOf returns where the command of a question would run.
func (c *Checker) placeOf(q Question) (func() permission.Place, error) {
	if q.Place == "" {
		return c.Place, nil
	}
	for _, p := range []permission.Place{permission.None, permission.ReadOnly, permission.Overlay} {
		if p.String() == q.Place {
			return func() permission.Place { return p }, nil
		}
	}
	return nil, fmt.Errorf("unknown place %q (expected overlay, read-only or none)", q.Place)
}

// SecretsIn returns the secret files of a directory.
func SecretsIn(dir string) func() ([]string, bool) {
	return func() ([]string, bool) {
		finder := secretfiles.New(secretfiles.Options{Roots: []string{dir}})
		defer finder.Close()
		return finder.List(secretsWait)
	}
}

// secretsWait is how long a check searches for secret files.
const secretsWait = 10 * time.Second

// request is the call that the question is about.
func (c *Checker) request(ctx context.Context, q Question, dir string) (tool.Request, error) {
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
func (c *Checker) work(dir string) error {
	if c.registry != nil && c.dir == dir {
		return nil
	}
	set, err := builtin.New(builtin.Options{Dir: dir, Imagined: true, AllRead: true})
	if err != nil {
		return err
	}
	c.Close()
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
