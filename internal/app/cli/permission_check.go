package cli

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"github.com/adze-dev/adze/internal/app/check"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/rules"
	"github.com/adze-dev/adze/internal/app/session"
	"github.com/adze-dev/adze/internal/app/settings"
	"github.com/adze-dev/adze/internal/engine/proc"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

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
	c := &check.Checker{
		Dir: env.Dir, Home: project.Canonical(home), User: project.Canonical(env.Home),
		Mode: o.tryMode, OnlyRules: o.noReadOnly, Secrets: check.SecretsIn,
	}
	c.Place = sync.OnceValue(func() permission.Place {
		r := proc.Open(proc.Options{Helper: proc.Helper(env.Helper)})
		defer r.Close()
		if r.CanLimit(false) != nil {
			return permission.None
		}
		return permission.Overlay
	})
	defer c.Close()
	if o.batch {
		if err := takes(words, 0, "permission check --batch < questions.jsonl"); err != nil {
			return err
		}
		// It reads no settings, asks for no approval and changes nothing: the result depends on the line alone.
		return eachLine(ctx, env, "questions", func(line []byte, number int, bad error) ([]byte, error) {
			return c.Line(ctx, line, number, bad)
		})
	}
	if err := takes(words, 1, "permission check [FLAGS] -- 'COMMAND'"); err != nil {
		return err
	}
	return checkOne(ctx, env, o, c, words[0])
}

// checkOne judges a command with the rules of settings and of the line.
func checkOne(ctx context.Context, env Env, o *options, c *check.Checker, command string) error {
	// it warns about settings and rules that have no effect
	opened, err := openSession(env, o, session.Options{SingleCall: true})
	if err != nil {
		return err
	}
	defer closeSession(env, opened)
	s := opened.Settings
	q := check.Question{
		Cmd: &command, Cwd: opened.Directory.Path, Mode: cmp.Or(o.tryMode, s.Tools.ApprovalMode), Tools: s.Tools,
	}
	q.Rules.Allow = append(settings.Texts(s.Permissions.Allow), o.allow...)
	q.Rules.Ask = append(settings.Texts(s.Permissions.Ask), o.ask...)
	q.Rules.Deny = append(settings.Texts(rules.Denied(s)), o.deny...)
	c.Place, c.Secrets = opened.Place, func(string) func() ([]string, bool) { return opened.Tools.Secrets }
	d, why, err := c.Judge(ctx, q)
	if err != nil {
		return exitf(exitInput, "%v", err)
	}
	if o.json {
		v := check.Verdict{Verdict: permission.Word(d), Why: why, Offer: d.Offer}
		if err := printJSON(env.Stdout, v); err != nil {
			return err
		}
		return checked(d)
	}
	fmt.Fprintf(env.Stdout, "%s\n", permission.Word(d))
	for _, w := range why {
		fmt.Fprintf(env.Stdout, "  %s\n", tool.Visible(w))
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
