// Package doctor reports what works in a session, what doesn't, and why: adze doctor and /doctor.
//
//	r := doctor.New(os.Stdout)
//	found, err := r.Machine(env)
//	…
//	r.Session(ctx, s, found, warnings)
//	problems := r.End()
package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/discover"
	"github.com/adze-dev/adze/internal/app/external"
	"github.com/adze-dev/adze/internal/app/models"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/record"
	"github.com/adze-dev/adze/internal/app/session"
	"github.com/adze-dev/adze/internal/app/settings"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/proc"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// Report prints the report of adze doctor and /doctor: sections of lines, each with a mark. A section in which all is
// as usual is one line.
type Report struct {
	w        io.Writer
	problems int

	title, lines string // of the section
	unusual      bool   // it has lines that the user has to see
}

// New starts a report.
func New(w io.Writer) *Report { return &Report{w: w} }

// section prints the section before, and starts another one.
func (c *Report) section(title string) {
	switch {
	case c.lines == "":
	case strings.HasPrefix(c.lines, "  ✓ "+c.title+": "), strings.HasPrefix(c.lines, "    "+c.title+": "):
		fmt.Fprint(c.w, c.lines[2:])
	default:
		fmt.Fprint(c.w, c.title+"\n"+c.lines)
	}
	c.title, c.lines, c.unusual = title, "", false
}

// brief ends a section with one line in place of all, if it is as usual.
func (c *Report) brief(text string) {
	if !c.unusual {
		c.lines = ""
		c.line("✓", c.title+": "+text)
	}
}

// ok prints something that works.
func (c *Report) ok(text string) { c.line("✓", text) }

// usual prints a neutral fact, unless the section is brief.
func (c *Report) usual(text string) { c.line(" ", text) }

// plain prints a neutral fact.
func (c *Report) plain(text string) { c.see(" ", text) }

// warn prints a fact that works partly, or is ignored.
func (c *Report) warn(text string) {
	c.problems++
	c.see("!", text)
}

// bad prints a failure.
func (c *Report) bad(text string) {
	c.problems++
	c.see("✗", text)
}

func (c *Report) see(mark, text string) {
	c.unusual = true
	c.line(mark, text)
}

func (c *Report) line(mark, text string) {
	text = tool.Visible(strings.TrimRight(text, "\n"))
	c.lines += "  " + mark + " " + strings.ReplaceAll(text, "\n", "\n    ") + "\n"
}

// End prints the number of problems, and returns it.
func (c *Report) End() int {
	c.section("")
	switch c.problems {
	case 0:
		fmt.Fprintln(c.w, "\nNo problems found.")
	default:
		fmt.Fprintf(c.w, "\n%s found.\n", humanize.Count(c.problems, "problem"))
	}
	return c.problems
}

// Machine reports facts that don't depend on a session. It returns the supported kinds of sandboxes.
func (c *Report) Machine(env project.Env) (sandbox.Support, error) {
	fmt.Fprintf(c.w, "adze %s, %s/%s\n", tool.Visible(env.Version), runtime.GOOS, runtime.GOARCH)
	r := proc.Open(proc.Options{Helper: proc.Helper(env.Helper)})
	health := r.Health()
	c.commands(health)
	return health.Sandbox, r.Close()
}

// Failed reports why there is no session.
func (c *Report) Failed(found sandbox.Support, err error) {
	c.sandbox(found, false)
	c.section("settings")
	c.bad(err.Error())
}

// Session reports what works in a session, what doesn't, and why. warnings are those of its start.
func (c *Report) Session(ctx context.Context, s *session.Session, found sandbox.Support, warnings []string) {
	c.sandbox(found, s.Settings.Tools.SandboxBackend == project.Bubblewrap)
	c.sandboxSettings(s.Directory, s.Settings.Tools, found)
	c.trials(ctx, s)
	c.denyRules(s, found)
	c.settings(s, warnings)
	c.section("model")
	name := ""
	if m, err := s.Models.Open(ctx); err != nil {
		c.bad(err.Error())
	} else {
		name = m.Name()
		c.brief(fmt.Sprintf("%s (%s)", tool.Visible(name), tool.Visible(s.Models.Where().String())))
	}
	c.agents(s)
	c.skills(s)
	c.hooks(s)
	c.languageServers(ctx, s)
	c.sessions(ctx, s)
	c.tools(ctx, s, name)
}

// sessions reports the size of recorded sessions, and when they are deleted.
func (c *Report) sessions(ctx context.Context, s *session.Session) {
	c.section("sessions")
	g := s.Settings.General
	if !g.ChatRecording {
		c.plain("sessions aren't recorded (general.chatRecording)")
	}
	use, err := record.Of(s.Directory).Use()
	if err != nil {
		c.bad(err.Error())
		return
	}
	text := fmt.Sprintf("%d recorded, %s", use.Count, humanize.Bytes(use.Total()))
	c.ok(text)
	if use.Total() > g.MaxStateBytes && g.MaxStateBytes > 0 {
		c.warn(fmt.Sprintf("%s is over the limit of %s (general.maxStateBytes): the oldest sessions are deleted when "+
			"a session ends", s.Directory.Home, humanize.Bytes(g.MaxStateBytes)))
	}
	c.undo(ctx, s)
	c.brief(text)
}

// undo reports whether the changes of commands are found by watches, or by the times of all files.
func (c *Report) undo(ctx context.Context, s *session.Session) {
	if !s.Settings.General.ChatRecording {
		return
	}
	switch why, err := s.Effects.Unwatched(ctx); {
	case err != nil:
		c.warn("undo: " + err.Error())
	case why != "":
		c.warn("undo compares the times of all files before and after each command that isn't tried, which " +
			"takes longer: " + tool.Visible(why))
	default:
		c.ok("undo: changes of commands are found by watching directories")
	}
}

// commands reports how commands run.
func (c *Report) commands(health proc.Health) {
	c.section("shell")
	for _, note := range health.Notes {
		c.warn(note)
	}
	c.brief(health.Shell)
}

// settings reports the settings that a user might not expect, and the warnings about them.
func (c *Report) settings(s *session.Session, warnings []string) {
	c.section("settings")
	file, mode := filepath.Join(s.Directory.Home, "settings.json"), "approval mode: "+s.Policy.Mode().String()
	c.usual("user settings: " + file)
	if s.Policy.Mode() == permission.Yolo {
		c.warn(mode + " (everything runs without approval)")
	} else {
		c.usual(mode)
	}
	for _, w := range warnings {
		c.warn(w)
	}
	for _, e := range s.Settings.Tools.NotSecret {
		c.plain("tools.notSecret: " + tool.Visible(e.Text) + " isn't masked")
	}
	for _, e := range s.Settings.Web.Credentials {
		c.plain("network.credentials: " + e.Host + ", " + e.Header)
	}
	for _, u := range s.Policy.Wide(s.Executor.Registry.All()) {
		c.warn(u.String() + ": it also allows words that write, connect or run any program")
	}
	c.brief(file + ", " + mode)
}

// agents lists the defined subagents and their unsupported settings. The tools of servers that are not connected are
// unknown here.
func (c *Report) agents(s *session.Session) {
	if len(s.Definitions.Roles) > 0 {
		c.section("agents")
	}
	for _, r := range s.Definitions.Roles {
		var problems []string
		if unknown := r.Unknown(s.Executor.Registry.All()); len(unknown) > 0 {
			problems = append(problems, "unknown or unsupported tools, not granted: "+strings.Join(unknown, ", "))
		}
		if models.IsGrade(r.Model) {
			problems = append(problems, fmt.Sprintf("unknown model %q, uses the session's model", r.Model))
		}
		if problems == nil {
			c.ok(r.Name)
		} else {
			c.warn(r.Name + ": " + strings.Join(problems, "; "))
		}
	}
}

// skills counts the skills, and lists those that can't be used or that others hide.
func (c *Report) skills(s *session.Session) {
	if len(s.Definitions.Skills) == 0 {
		return
	}
	c.section("skills")
	for _, k := range s.Definitions.Found {
		for _, path := range k.Hides {
			c.warn(path + " is ignored: " + k.Path + " has the same name")
		}
		if _, err := k.About(); err != nil {
			c.warn(err.Error())
		}
	}
	c.ok(humanize.Count(len(s.Definitions.Skills), "skill"))
	c.brief(fmt.Sprint(len(s.Definitions.Skills)))
}

// hooks lists the hooks of settings.
func (c *Report) hooks(s *session.Session) {
	given := s.Settings.Hooks
	if len(given.Given) == 0 {
		return
	}
	c.section("hooks")
	if given.Disabled {
		c.warn("hooks don't run (disableAllHooks)")
	}
	for _, h := range s.HookList {
		text := string(h.Event)
		if h.Matcher != "" {
			text += " " + tool.Visible(h.Matcher)
		}
		text += ": " + tool.Visible(h.Title()) + " (" + h.From + ")"
		if h.Unsupported != "" {
			c.warn(text + fmt.Sprintf(": hooks of type %q aren't supported", h.Unsupported))
		} else {
			c.ok(text)
		}
	}
}

// tools reports the number of tools, and every source of external tools with its problems.
func (c *Report) tools(ctx context.Context, s *session.Session, modelName string) {
	c.section("tools")
	s.Outside.Connect()
	s.Outside.Wait(ctx) // failures are reported below
	builtins, tokens := 0, 0
	for _, d := range s.Executor.Registry.All() {
		if d.Origin == "" {
			builtins++
		} else {
			tokens += agent.Tokens(d)
		}
	}
	listed := fmt.Sprintf("%d built-in (see 'adze tool list')", builtins)
	c.ok(listed)
	for _, p := range s.Outside.Problems() {
		if p.Server == "" {
			c.warn(p.Text)
		}
	}
	c.discovery(s)
	servers := s.Outside.Listed()
	for _, l := range servers {
		c.server(s, l)
	}
	if limit := s.Outside.Budget(modelName); limit > 0 && tokens > limit {
		c.plain(fmt.Sprintf("external tools take about %d tokens, over the limit of %d (tools.toolSearch.threshold): "+
			"the model loads them with %s",
			tokens, limit, builtin.ToolSearch))
	}
	if len(servers) == 0 && tokens == 0 {
		c.brief(listed)
	}
}

// discovery reports the result of the discovery command.
func (c *Report) discovery(s *session.Session) {
	ended, problems, ran := s.Outside.Discovered()
	switch {
	case !ran:
		return
	case !ended:
		c.bad("the discovery command is still running")
		return
	}
	n := 0
	for _, d := range s.Executor.Registry.All() {
		if d.Origin == discover.CommandOrigin {
			n++
		}
	}
	found := "the discovery command provides " + humanize.Count(n, "tool")
	if n > 0 {
		c.ok(found)
	} else {
		c.bad(found)
	}
	for _, p := range problems {
		c.warn(p)
	}
}

// server reports the state of an MCP server.
func (c *Report) server(s *session.Session, l external.ListedServer) {
	state := fmt.Sprintf("MCP server %s: %s", l.Name, l.State)
	switch {
	case l.State == external.ServerOff:
		c.plain(state + ": " + l.Error)
	case l.State == external.ServerUntrusted:
		c.warn(state + ": " + l.Error)
	case l.Error != "":
		c.bad(state + ": " + l.Error)
	default:
		c.ok(state + ", " + humanize.Count(len(l.Tools), "tool"))
	}
	if unknown := discover.UnknownKeys(s.Settings.MCP.Servers[l.Name].JSON); len(unknown) > 0 {
		c.warn(fmt.Sprintf("MCP server %s: unknown setting %s", l.Name, strings.Join(unknown, ", ")))
	}
	if n := len(l.Warnings); n > 0 {
		c.warn(fmt.Sprintf("MCP server %s: %s (see 'adze mcp list')", l.Name, humanize.Count(n, "warning")))
	}
}

// sandbox reports which kinds of sandboxes this system supports, and how well each mode is enforced.
func (c *Report) sandbox(s sandbox.Support, bubblewrap bool) {
	c.section("sandbox")
	lines := s.Lines(bubblewrap)
	modes := []sandbox.Mode{sandbox.ReadOnly, sandbox.Workspace, sandbox.WorkspaceNetwork}
	if s.Seatbelt || len(lines) <= len(modes) {
		for _, line := range lines {
			c.plain(line)
		}
		return
	}
	if runtime.GOOS == "windows" { // all that follows would have the same reason
		c.bad("none: " + s.LandlockWhy + "; commands beyond the read-only list require approval")
		return
	}
	c.layer(s.LandlockABI > 0, fmt.Sprintf("Landlock (ABI %d)", s.LandlockABI), "Landlock: "+s.LandlockWhy)
	c.layer(s.Seccomp, "seccomp", "seccomp: "+s.SeccompWhy)
	c.layer(s.Namespaces, "namespaces: user, mount, IPC, network", "namespaces: "+s.NamespacesWhy)
	if s.Namespaces {
		c.layer(s.PIDs, "PID namespace", "PID namespace: "+s.PIDsWhy)
	}
	switch {
	case s.Bubblewrap != "":
		c.usual("bubblewrap: " + s.Bubblewrap)
	case bubblewrap:
		c.bad("bubblewrap: " + s.BubblewrapWhy)
	default:
		c.usual("bubblewrap (optional): " + s.BubblewrapWhy)
	}
	if reads, enforced := s.Reads(bubblewrap); enforced {
		c.ok(reads)
	} else {
		c.warn(reads)
	}
	if sockets, private := s.UnixSockets(bubblewrap); private {
		c.ok(sockets)
	} else {
		c.plain(sockets)
	}
	weak := lines[len(lines)-len(modes):] // the limitations of the modes, in the same order
	for i, m := range modes {
		spec := sandbox.Spec{
			Mode: m, Protect: []string{"/"}, BestEffort: true, Bubblewrap: bubblewrap, Without: ^s.Layers(),
		}
		switch p, err := spec.Plan(); {
		case err != nil || p.Layers == 0:
			c.bad(weak[i])
		case len(p.Notes) > 0:
			c.warn(weak[i])
		default:
			c.ok(fmt.Sprintf("%s mode: %s", m, strings.Join(layerNames(p.Layers), ", ")))
		}
	}
}

func (c *Report) layer(works bool, name, why string) {
	if works {
		c.ok(name)
	} else {
		c.bad(why)
	}
}

// layerNames returns the official names of the layers.
func layerNames(l sandbox.Layers) []string {
	var names []string
	for _, layer := range []struct {
		layer sandbox.Layers
		name  string
	}{
		{sandbox.Landlock, "Landlock"}, {sandbox.Seccomp, "seccomp"}, {sandbox.Namespaces, "namespaces"},
		{sandbox.PIDs, "PID namespace"},
		{sandbox.Bubblewrap, "bubblewrap"}, {sandbox.Seatbelt, "Seatbelt"},
	} {
		if l.Has(layer.layer) {
			names = append(names, layer.name)
		}
	}
	return names
}

// sandboxSettings reports the user's sandbox settings.
func (c *Report) sandboxSettings(f project.Directory, t settings.Tools, found sandbox.Support) {
	c.usual("tools.sandbox: " + t.Sandbox)
	if t.SandboxBackend == project.Bubblewrap {
		c.plain("tools.sandboxBackend: " + t.SandboxBackend)
	}
	for _, path := range f.SandboxWrite(t) {
		if _, err := os.Stat(path); err != nil {
			c.warn("tools.sandboxWrite: " + path + " does not exist")
			continue
		}
		c.plain("workspace mode also allows writes to " + path)
	}
	if t.SandboxUnixSockets {
		c.plain("tools.sandboxUnixSockets: commands can connect to Unix sockets of other programs")
	}
	c.brief(t.Sandbox + " (" + strings.Join(layerNames(found.Layers()), ", ") + ")")
}

// denyRules reports whether the kernel enforces deny rules on paths, or only the text of commands counts.
func (c *Report) denyRules(s *session.Session, found sandbox.Support) {
	if len(s.Policy.DeniedPaths()) == 0 {
		return
	}
	c.section("deny rules")
	const onlyText = "deny rules on paths only apply to paths in the text of commands"
	if s.Settings.Tools.Sandbox == string(sandbox.Off) {
		c.warn(onlyText + " (tools.sandbox: off)")
		return
	}
	spec := sandbox.Spec{Mode: sandbox.DenyRules, Without: ^found.Layers()}
	if _, err := spec.Plan(); err != nil {
		c.warn(onlyText + ": " + cmp.Or(found.NamespacesWhy, found.SeccompWhy))
		return
	}
	c.ok("deny rules on paths: the kernel enforces them in every command")
	for _, text := range s.Tools.DeniedByText() {
		c.warn(text)
	}
}

// Trials returns the line of the report about trials: "trials: commands are tried in an overlay (overlayfs)".
func Trials(ctx context.Context, s *session.Session) string {
	var b strings.Builder
	c := New(&b)
	c.trials(ctx, s)
	c.section("")
	return strings.Trim(b.String(), "✓ \n")
}

// trials reports whether commands can be tried in a directory, by trying one.
func (c *Report) trials(ctx context.Context, s *session.Session) {
	c.section("trials")
	switch t := s.Settings.Tools; {
	case t.Trial == "off":
		c.plain("trials: off (tools.trial)")
		return
	case t.Trial == project.Untried:
		c.plain("trials: off until you trust this project. Review with 'adze trust'")
		return
	case !project.Tries(t):
		c.plain("trials: off (tools.sandbox: " + t.Sandbox + ")")
		return
	}
	why := "tools.trial is read-only"
	if s.Settings.Tools.Trial != project.ReadOnlyTrial {
		by, err := tryTrial(ctx, s)
		if err == nil {
			err = s.Tools.NoOverlay()
		}
		if err == nil {
			c.brief("commands are tried in an overlay (overlayfs" + by + ")")
			return
		}
		why = err.Error()
	}
	if err := canObserve(s.Env); err != nil {
		c.plain("trials: none, because " + why + "; nor in a read-only place: " + err.Error())
		return
	}
	if s.Tools.Place() == builtin.PlaceNone {
		c.plain("trials: none, because " + why)
		return
	}
	c.brief("commands are tried in a read-only place (Landlock; denied writes are observed), because " + why)
}

// canObserve returns why commands can't be tried in a read-only place, or nil.
func canObserve(env project.Env) (err error) {
	r := proc.Open(proc.Options{Helper: proc.Helper(env.Helper)})
	defer func() { err = errors.Join(err, r.Close()) }()
	return r.CanObserve()
}

// tryTrial runs a command that does nothing in a trial. by describes whether and why bubblewrap is used.
func tryTrial(ctx context.Context, s *session.Session) (by string, err error) {
	f := s.Directory
	layers, _, err := f.Trials(f.SandboxWrite(s.Settings.Tools), s.Env.Environ)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, layers.Close()) }()
	if ok, why := layers.Supported(); !ok {
		return "", errors.New(why)
	}
	t, err := layers.New(ctx)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, t.Drop()) }()
	r := proc.Open(proc.Options{Helper: proc.Helper(s.Env.Helper)})
	defer func() { err = errors.Join(err, r.Close()) }()
	spec := t.Spec(nil)
	out, err := r.Run(ctx, proc.Command{Line: ":", Dir: f.Path, Env: s.Env.Environ, Sandbox: spec})
	if err == nil && out.Exit != 0 {
		err = errors.New(out.Output.String())
	}
	if plan, fails := spec.Plan(); fails == nil && plan.Launched {
		has := sandbox.Probe()
		by = "; in namespaces of bubblewrap, because " + cmp.Or(has.NamespacesWhy, has.PIDsWhy)
	}
	return by, err
}
