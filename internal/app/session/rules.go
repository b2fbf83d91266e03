package session

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/adze-dev/adze/internal/app/approval"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/settings"
	"github.com/adze-dev/adze/internal/engine/atomicfile"
	"github.com/adze-dev/adze/internal/engine/edit"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// setRules sets the rules of settings in the policy. An invalid deny or ask rule is an error.
func (s *Session) setRules() error {
	rules, ignored, err := s.readRules(nil)
	if err != nil {
		return project.Errorf(project.ErrRules, "read the rules in settings: %v", err)
	}
	for _, problem := range ignored {
		s.Env.Notice(problem.Error())
	}
	for _, e := range s.Settings.Permissions.Allow {
		if s.allowsHosts(e) {
			s.Env.Notice(fmt.Sprintf("%s: ignoring %s: a project's settings can only deny and ask. Put it in your own "+
				"settings.", e.From, e.Text))
		}
	}
	all := tool.NewRegistry(s.Tools.All()...).All()
	s.warnRules(rules, all)
	s.warnAll(s.unknownTools(all))
	s.Policy.SetRules(rules)
	return nil
}

// readRules reads the rules of settings, and those of the session by their list.
func (s *Session) readRules(own map[string][]permission.Written) (permission.Rules, []permission.Problem, error) {
	p := s.Settings.Permissions
	allow := slices.DeleteFunc(slices.Clone(p.Allow), s.allowsHosts)
	return permission.ReadRules(slices.Concat(written(allow), own["allow"]),
		slices.Concat(written(p.Ask), own["ask"]),
		slices.Concat(written(Denied(s.Settings)), own["deny"]))
}

// allowsHosts reports whether an allow rule is a project's rule on the network, which is ignored: a project can't
// decide where its commands may send files, even if the user trusts it otherwise.
func (s *Session) allowsHosts(e settings.Entry) bool {
	return permission.IsNetwork(e.Text) && slices.ContainsFunc(s.Directory.Files(), func(f settings.File) bool {
		return f.Scope == "project" && f.Path == e.From.Source
	})
}

// ownRules are rules that the user added for the session.
type ownRules struct {
	mu    sync.Mutex
	rules map[string][]permission.Written // by list
}

// written returns a list of rules with the place of each in settings.
func written(entries []settings.Entry) []permission.Written {
	out := make([]permission.Written, len(entries))
	for i, e := range entries {
		out[i] = permission.Written{Text: e.Text, Source: e.From.String()}
	}
	return out
}

// Only returns a policy that denies calls outside allowed-tools of a command file or a skill. It allows the others, so
// that it can only narrow what another policy allows.
func (s *Session) Only(allowed []string) (tool.Policy, error) {
	entries := make([]permission.Written, len(allowed))
	for i, text := range allowed {
		entries[i].Text = text
	}
	core, err := permission.ReadCore(entries)
	if err != nil {
		return nil, fmt.Errorf("allowed-tools: %w", err)
	}
	named, err := permission.Excluding(allowed)
	if err != nil {
		return nil, fmt.Errorf("allowed-tools: %w", err)
	}
	covers := core.Policy(s.world)
	return func(r tool.Request) tool.Decision {
		d := r.Declaration
		if !core.Has(d) || d.Origin != "" && !named(d) || covers != nil && covers(r).Verdict != tool.Allow {
			return tool.Decision{Reason: "its allowed-tools doesn't include this command"}
		}
		return tool.Decision{Verdict: tool.Allow}
	}, nil
}

// Denied returns the deny rules of settings. Tools in tools.exclude are denied as well, whatever name a call uses, and
// an entry of tools.disabled with a specifier is a deny rule.
func Denied(s *settings.Settings) []settings.Entry {
	denied := slices.Concat(s.Permissions.Deny, s.Tools.Exclude)
	for _, e := range s.Tools.Disabled {
		if strings.Contains(e.Text, "(") {
			denied = append(denied, e)
		}
	}
	return denied
}

// SetMode changes the approval mode and has open questions judged again. The model is informed before its next turn.
func (s *Session) SetMode(mode string) error {
	m, err := permission.ParseMode(mode)
	if err != nil {
		return err
	}
	s.Policy.SetMode(m)
	s.Executor.Rejudge()
	s.recorder.mode(m.String())
	return nil
}

// narrow returns the policy of a stricter mode.
func (s *Session) narrow(mode string) (tool.Policy, error) {
	m, err := permission.ParseMode(mode)
	if err != nil {
		return nil, err
	}
	return permission.New(s.world, m).Judge, nil
}

// denyAll returns the asker of a non-interactive session. It denies every call that requires approval.
func (s *Session) denyAll(ctx context.Context, r tool.Request, why tool.Decision) (tool.Decision, error) {
	return s.hooks.asking(ctx, r, why, s.denyUnasked)
}

func (s *Session) denyUnasked(_ context.Context, r tool.Request, why tool.Decision) (tool.Decision, error) {
	return tool.Decision{}, tool.Unapproved(r, why, "this session is non-interactive", s.Policy.Flags(r)...)
}

// trusting returns a policy that approves tools of trusted servers if only the approval mode would ask: rules still
// apply, and plan mode still denies.
func trusting(judge tool.Policy, trusted func(origin string) bool) tool.Policy {
	return func(r tool.Request) tool.Decision {
		d := judge(r)
		if d.Verdict != tool.Ask || d.Cause.Kind != tool.ByMode || r.MustAsk || !trusted(r.Declaration.Origin) {
			return d
		}
		return tool.Decision{Verdict: tool.Allow, Cause: tool.Cause{Kind: tool.ByTrust}}
	}
}

// approved is the version of an external tool that the user approved.
type approved struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	When        time.Time       `json:"when"`
}

// approvals remember external tools as they were when they were allowed, by their fingerprints, to show the user what
// has changed. They grant nothing: rules do, which have the fingerprint.
type approvals struct {
	path string // if the file is lost, only the comparison is

	mu    sync.Mutex // several questions may be open
	known map[string]approved
}

// maxApprovals is the maximum number kept, the newest.
const maxApprovals = 1000

// Asking makes the questions for a front end. They first show what has changed in a tool since the user approved it,
// and apply and save rules that the user chooses.
func (s *Session) Asking(front approval.Front) tool.Asker {
	ask := approval.Rules{
		Policy: s.Policy,
		Save: func(scope approval.Scope, offer string) (string, error) {
			return s.Directory.SaveRule(project.Scope(scope), offer)
		},
		Sandbox: s.Settings.Tools.Sandbox,
	}.Asker(front)
	a := &approvals{path: filepath.Join(s.Directory.MCPState(), "approved.json")}
	return func(ctx context.Context, r tool.Request, why tool.Decision) (tool.Decision, error) {
		s.tracker.Prepare(context.WithoutCancel(ctx), r.Access)
		shown := r
		if old := s.Policy.Outdated(r); old != "" && !r.MustAsk {
			shown.Confirm = tool.Literal(a.changes(old, r.Declaration) + plainText(r.Confirm))
		}
		d, err := s.hooks.asking(ctx, shown, why, ask)
		if err == nil && d.Remember != "" && r.Declaration.Fingerprint != "" {
			a.add(r.Declaration)
		}
		return d, err
	}
}

func plainText(d tool.Display) string {
	switch d := d.(type) {
	case nil:
		return ""
	case tool.Literal:
		return string(d)
	}
	return d.Markdown()
}

// changes describes how a tool differs from the version that the user approved.
func (a *approvals) changes(print string, now tool.Declaration) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.load()
	for full, before := range a.known {
		if !strings.HasPrefix(full, print) {
			continue
		}
		if diff := edit.Compare(describe(before.Description, before.Parameters),
			describe(now.Description, now.Parameters)).Unified("allowed", "now"); diff != "" {
			return "This tool changed since you approved it:\n" + diff + "\nThis call:\n"
		}
		return "This tool's server changed since you approved it: its command, URL or environment.\n\nThis call:\n"
	}
	return "This tool changed since you approved it (the previous version isn't available).\n\nThis call:\n"
}

// describe returns the description and the parameters of a tool, one per line.
func describe(description string, parameters json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, parameters, "", "  ") != nil {
		b.Reset()
		b.Write(parameters)
	}
	return fmt.Sprintf("%s\n%s\n", strings.TrimRight(description, "\n"), b.String())
}

// load reads the stored approvals. An invalid file counts as empty.
func (a *approvals) load() {
	if a.known != nil {
		return
	}
	a.known = map[string]approved{}
	if raw, err := os.ReadFile(a.path); err == nil {
		if json.Unmarshal(raw, &a.known) != nil || a.known == nil {
			a.known = map[string]approved{}
		}
	}
}

// add stores the current version of a tool.
func (a *approvals) add(d tool.Declaration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.known = nil // another process may have written it meanwhile
	a.load()
	a.known[d.Fingerprint] = approved{d.Name, d.Description, d.Parameters, time.Now().UTC()}
	for len(a.known) > maxApprovals {
		oldest := ""
		for print, one := range a.known {
			if oldest == "" || one.When.Before(a.known[oldest].When) {
				oldest = print
			}
		}
		delete(a.known, oldest)
	}
	raw, err := json.MarshalIndent(a.known, "", "  ")
	if err == nil && os.MkdirAll(filepath.Dir(a.path), 0o700) == nil {
		_, _ = atomicfile.Write(a.path, raw, atomicfile.Options{Mode: 0o600})
	}
}

// RuleLists returns the lists of permission rules, the strongest first.
func RuleLists() []string { return []string{"deny", "ask", "allow"} }

// AddRule adds a rule for the session. It returns a note about a rule that no tool matches.
func (s *Session) AddRule(list, rule string) (note string, err error) {
	s.own.mu.Lock()
	defer s.own.mu.Unlock()
	mine := map[string][]permission.Written{list: {{Text: rule, Source: thisSession}}}
	alone, problems, err := permission.ReadRules(mine["allow"], mine["ask"], mine["deny"])
	if err == nil && len(problems) > 0 {
		err = problems[0].Err
	}
	if err != nil {
		return "", err
	}
	if len(alone.Unused(s.Executor.Registry.All())) > 0 {
		note = "\nNote: no tool has this name."
	}
	if s.own.rules == nil {
		s.own.rules = map[string][]permission.Written{}
	}
	s.own.rules[list] = append(s.own.rules[list], mine[list]...)
	rules, _, err := s.readRules(s.own.rules)
	if err != nil {
		return "", err
	}
	s.Policy.SetRules(rules)
	s.Executor.Rejudge()
	return note, nil
}

// Rules returns the rules of settings and those of the session, the strongest first.
func (s *Session) Rules() []tool.Rule {
	p := s.Settings.Permissions
	given := map[string][]permission.Written{
		"deny": written(Denied(s.Settings)), "ask": written(p.Ask), "allow": written(p.Allow),
	}
	var out []tool.Rule
	s.own.mu.Lock()
	defer s.own.mu.Unlock()
	for _, list := range RuleLists() {
		for _, w := range slices.Concat(given[list], s.own.rules[list]) {
			out = append(out, tool.Rule{List: list, Text: w.Text, Source: w.Source})
		}
	}
	for _, rule := range s.Policy.Remembered() {
		out = append(out, tool.Rule{List: "allow", Text: rule, Source: thisSession})
	}
	return out
}

// thisSession is the source of a rule that the user added for the session.
const thisSession = "this session"
