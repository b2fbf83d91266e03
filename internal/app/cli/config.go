package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/adze-dev/adze/internal/app/approval"
	"github.com/adze-dev/adze/internal/app/configimport"
	"github.com/adze-dev/adze/internal/app/doctor"
	"github.com/adze-dev/adze/internal/app/models"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/session"
	"github.com/adze-dev/adze/internal/app/settings"
	"github.com/adze-dev/adze/internal/app/slash"
	"github.com/adze-dev/adze/internal/app/trust"
	"github.com/adze-dev/adze/internal/app/tty"
	"github.com/adze-dev/adze/tool"
)

// loadedSettings are the settings of the directory that the command line names.
func loadedSettings(env Env, o *options) (*settings.Settings, error) {
	directory, err := workingDirectory(env, o)
	if err != nil {
		return nil, err
	}
	s, _, err := directory.Settings()
	return s, err
}

// configList prints the settings that take effect.
func configList(_ context.Context, env Env, o *options, _ []string) error {
	s, err := loadedSettings(env, o)
	if err != nil {
		return err
	}
	all := []project.SettingValue{}
	for _, d := range settings.Describe() {
		all = append(all, project.ValueOf(s, d.Key))
	}
	if o.json {
		return printJSON(env.Stdout, all)
	}
	var rows [][]string
	for _, v := range all {
		if v.Value != nil {
			rows = append(rows, []string{v.Key, tool.Visible(string(v.Value)), v.Source()})
		}
	}
	_, err = fmt.Fprint(env.Stdout, strings.ReplaceAll("\n"+table(rows), "\n  ", "\n")[1:])
	return err
}

// configGet prints the value of a setting: a string as it is, anything else as JSON.
func configGet(_ context.Context, env Env, o *options, words []string) error {
	key, err := settings.Canonical(words[0])
	if err != nil {
		return err
	}
	s, err := loadedSettings(env, o)
	if err != nil {
		return err
	}
	v := project.ValueOf(s, key)
	var text string
	switch {
	case v.Value == nil:
		return exitf(exitError, "setting %s is not set", key)
	case !o.json && json.Unmarshal(v.Value, &text) == nil:
		_, err = fmt.Fprintln(env.Stdout, tool.Visible(text))
	default:
		_, err = fmt.Fprintln(env.Stdout, string(v.Value))
	}
	return err
}

// configSet changes a setting in a settings file.
func configSet(_ context.Context, env Env, o *options, words []string) error {
	directory, err := settingsDirectory(env, o)
	if err != nil {
		return err
	}
	c, err := directory.SetSetting(o.scope, words[0], words[1])
	if err != nil {
		return err
	}
	if c.Warning != "" {
		env.tell(c.Warning)
	}
	fmt.Fprintln(env.Stdout, c)
	if directory, err = workingDirectory(env, o); err != nil {
		return nil // the change is made
	}
	untrusted, note := directory.TakesEffect(c)
	if note != "" {
		env.tell(note)
	}
	if untrusted {
		_, err = fmt.Fprintln(env.Stdout, "Run 'adze trust' to enable it.")
	}
	return err
}

// configImport imports the settings of another agent.
func configImport(ctx context.Context, env Env, o *options, words []string) error {
	directory, err := settingsDirectory(env, o)
	if err != nil {
		return err
	}
	from := env.Home
	if o.scope == project.ForProject {
		from = directory.Path
	}
	now, err := os.ReadFile(directory.File(o.scope))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	plan, err := configimport.Read(words[0], from, o.scope == project.ForProject, now)
	if err != nil {
		return usagef("%v", err)
	}
	if len(plan.Changes) == 0 {
		_, err := fmt.Fprintf(env.Stdout, "%sNothing to import from %s.\n", tool.Visible(plan.String()), words[0])
		return err
	}
	fmt.Fprint(env.Stdout, tool.Visible(plan.String()))
	if err := agree(ctx, env, o, "config import", "Write this to "+directory.File(o.scope)+"?"); err != nil {
		return err
	}
	path, err := changeSettings(env, o, plan.Apply)
	if err == nil {
		_, err = fmt.Fprintf(env.Stdout, "Wrote %s\n", path)
	}
	return err
}

// configUnset removes a setting from a settings file.
func configUnset(_ context.Context, env Env, o *options, words []string) error {
	key, err := settings.Canonical(words[0])
	if err != nil {
		return err
	}
	path, err := changeSettings(env, o, func(path string, text []byte) ([]byte, error) {
		out, found, err := settings.UnsetKey(path, text, key)
		if err == nil && !found {
			err = exitf(exitError, "setting %s is not set in %s", key, path)
		}
		return out, err
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.Stdout, "Removed %s from %s\n", key, path)
	return err
}

// configPath prints the path of a settings file, or as JSON those of all.
func configPath(_ context.Context, env Env, o *options, _ []string) error {
	directory, err := workingDirectory(env, o)
	if err != nil {
		return err
	}
	if !o.json {
		_, err := fmt.Fprintln(env.Stdout, directory.File(o.scope))
		return err
	}
	type file struct {
		Path   string `json:"path"`
		Scope  string `json:"scope"`
		Exists bool   `json:"exists"`
	}
	files := []file{}
	for _, f := range directory.Files() {
		_, err := os.Lstat(f.Path)
		files = append(files, file{f.Path, f.Scope, err == nil})
	}
	return printJSON(env.Stdout, files)
}

// configSchema prints the JSON Schema of settings files.
func configSchema(_ context.Context, env Env, _ *options, _ []string) error {
	schema, err := settings.Schema()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.Stdout, "%s\n", schema)
	return err
}

// runDoctor reports what works on this machine, what does not, and why.
func runDoctor(ctx context.Context, env Env, o *options, _ []string) error {
	c := doctor.New(env.Stdout)
	err := checkSession(ctx, c, env, o)
	if ctx.Err() != nil {
		return exitf(exitInterrupted, "interrupted")
	}
	if c.End() > 0 && err == nil {
		return exitf(exitError, "")
	}
	return err
}

func checkSession(ctx context.Context, c *doctor.Report, env Env, o *options) error {
	found, err := c.Machine(env.session())
	if err != nil {
		return err
	}
	var told []string
	own := env
	own.notify = func(note string) { told = append(told, strings.TrimPrefix(note, "warning: ")) }
	s, err := openSession(own, o, session.Options{SingleCall: true, AllWarnings: true})
	if err != nil {
		c.Failed(found, err)
		return exitf(exitCode(err), "")
	}
	defer closeSession(env, s)
	slash.New(s, 0) // reports command files that are ignored
	c.Session(ctx, s, found, told)
	return nil
}

// modelFlags choose a model.
func modelFlags(o *options) []flag {
	types := settings.AuthTypes()
	return []flag{
		{long: "model", short: "m", value: "NAME", on: cmdAgent + " doctor", about: "model to use (see 'adze models')",
			to: text(&o.model)},
		{long: "fallback-model", value: "A,B", on: cmdAgent,
			about: "models that take over when the model is overloaded (repeatable)",
			to:    list(&o.fallbacks)},
		{long: "auth-type", value: "TYPE", on: cmdAgent + " doctor models",
			about: "API to use: " + strings.Join(types[:len(types)-1], ", ") + " or " + types[len(types)-1],
			among: types,
			to:    text(&o.authType)},
		{long: "effort", value: "LEVEL", on: cmdAgent, about: "how long the model thinks, such as low, medium or high",
			to: text(&o.effort)},
	}
}

// listModels prints the models that can be used.
func listModels(ctx context.Context, env Env, o *options, s *session.Session, _ []string) error {
	list, errs := s.Models.List(ctx)
	for _, err := range errs {
		env.tell(err.Error())
	}
	if o.json {
		return printJSON(env.Stdout, append([]models.Listed{}, list...))
	}
	if len(list) == 0 {
		if len(errs) > 0 {
			return exitf(exitCode(errs[0]), "")
		}
		_, err := s.Models.Open(ctx)
		return err
	}
	w := tabwriter.NewWriter(env.Stdout, 0, 0, 2, ' ', 0)
	for _, m := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d tokens\n", tool.Visible(m.ID), m.AuthType, m.BaseURL, m.Source,
			m.ContextWindow)
	}
	return w.Flush()
}

// showMemory prints what the context files say, and on the side which they are.
func showMemory(_ context.Context, env Env, o *options, s *session.Session, _ []string) error {
	memory := s.Definitions.Memory()
	for _, n := range memory.Notes {
		env.tell(fmt.Sprint(n))
	}
	for _, f := range memory.Files {
		fmt.Fprintf(env.Stderr, "%s (%s, %d bytes)\n", f.Path, f.Scope, f.Size)
	}
	_, err := fmt.Fprintln(env.Stdout, s.Definitions.Describe(memory))
	return err
}

// runTrust shows what a project's files request, and asks whether to trust them.
func runTrust(ctx context.Context, env Env, o *options, words []string) error {
	if len(words) > 1 {
		return usagef("usage: adze trust [DIR]")
	}
	if len(words) == 1 {
		o.cwd = words[0]
	}
	directory, err := workingDirectory(env, o)
	if err != nil {
		return err
	}
	dir, store := directory.Path, directory.Trust()
	if o.remove {
		state, err := store.State(dir, nil)
		if err == nil && state == trust.Unknown {
			_, err := fmt.Fprintf(env.Stdout, "%s was not trusted.\n", dir)
			return err
		}
		if err := store.Forget(dir); err != nil {
			return err
		}
		_, err = fmt.Fprintf(env.Stdout, "Removed trust for %s.\n", dir)
		return err
	}
	requests, err := directory.Requests()
	if err != nil {
		return err
	}
	if len(requests.Items) == 0 {
		_, err := fmt.Fprintf(env.Stdout, "Nothing to trust: %s requests no additional permissions.\n", dir)
		return err
	}
	state, err := directory.TrustState(requests)
	if err != nil {
		return err
	}
	fmt.Fprintf(env.Stdout, "The project %s requests:\n", dir)
	io.WriteString(env.Stdout, trust.Describe(requests.Items))
	if state == trust.Trusted {
		_, err := fmt.Fprintln(env.Stdout, "This project is trusted.")
		return err
	}
	if err := agree(ctx, env, o, "trust", "Trust this project?"); err != nil {
		return err
	}
	if err := directory.Grant(requests); err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.Stdout, "Trusted. You'll be asked again if any of this changes. Undo: adze "+
		"trust --remove\n")
	return err
}

// agree asks for approval of what a command would do.
func agree(ctx context.Context, env Env, o *options, command, question string) error {
	if o.yes {
		return nil
	}
	if !env.Terminal {
		return exitf(exitDenied, "%s needs a terminal\nUse --yes to approve without a prompt.", command)
	}
	answer, err := tty.Prompt(ctx, env.Stderr, tty.NewAnswers(env.Stdin), question+" [y/N] ")
	if err != nil {
		return exitf(exitDenied, "no answer: %v", err)
	}
	if !approval.IsYes(answer) {
		return exitf(exitDenied, "not approved")
	}
	return nil
}
