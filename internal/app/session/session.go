// Package session sets up one run: settings, tools, policy, executor, models and external tools.
//
//	s, err := session.Open(env, session.Options{Dir: dir})
//	…
//	defer s.Close()
//	s.Executor.Ask = s.Asking(ask)         // how to prompt the user
//	s.Outside.Connect()                    // external tools
//	m, err := s.Models.Open(ctx)           // the configured model
//	c := s.Converse(ctx, session.ConversationOptions{Model: m})
//	answer, err := c.Run(ctx, parts...)
//
// It reads no arguments and prints nothing: front ends do. Notices for the user go to Env.Tell.
package session

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/discover"
	"github.com/adze-dev/adze/internal/app/attach"
	"github.com/adze-dev/adze/internal/app/definitions"
	"github.com/adze-dev/adze/internal/app/effects"
	"github.com/adze-dev/adze/internal/app/external"
	"github.com/adze-dev/adze/internal/app/hooks"
	"github.com/adze-dev/adze/internal/app/models"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/record"
	"github.com/adze-dev/adze/internal/app/recording"
	"github.com/adze-dev/adze/internal/app/requestlog"
	"github.com/adze-dev/adze/internal/app/rules"
	"github.com/adze-dev/adze/internal/app/settings"
	"github.com/adze-dev/adze/internal/app/spill"
	"github.com/adze-dev/adze/internal/app/telemetry"
	"github.com/adze-dev/adze/internal/engine/broker"
	"github.com/adze-dev/adze/internal/engine/workspace/watch"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/permission/ondisk"
	shellread "github.com/adze-dev/adze/permission/shell"
	"github.com/adze-dev/adze/tool"
)

// Session is the tools of one run, with their policy.
type Session struct {
	ID           string
	Env          project.Env
	Directory    project.Directory
	Settings     *settings.Settings
	Definitions  *definitions.Definitions
	Rules        *rules.Rules
	Policy       *permission.Policy // of these rules
	Tools        *builtin.Set       // built-in ones
	Outside      *external.Tools
	Executor     *tool.Executor
	Models       *models.Models
	Effects      *effects.Effects    // of its calls
	Attachments  *attach.Attachments // of its prompts
	Tasks        builtin.TaskJobs    // background subagents
	HookList     []hooks.Listed      // the hooks of settings and plugins that run
	Recorder     *recording.Recorder // nil: nothing is recorded
	Resumed      *recording.Resumed  // the session that Converse continues; nil: it is new, or continued
	Conversation *Conversation       // nil before Converse
	// Begin is set by front ends that call Converse for the first prompt: it calls Converse, for a command before it.
	Begin func(context.Context) (*Conversation, error)

	lines shellread.Lines // of its calls
	long  results
	own   []tool.Tool                 // of the program that embeds the session
	apart func(tool.Declaration) bool // reports whether a built-in tool is removed; nil: none
	wake  chan struct{}               // holds a token after background work has ended

	result             *builtin.ResultSchema // nil: the model replies with text
	replaced, appended string                // of the system prompt
	place              string

	hiddenBy atomic.Uint64 // the version of the rules by which the sandbox hides files

	hooks       *hooks.Hooks        // nil: there are none
	credentials *broker.Credentials // of requests of commands; nil: there are none
	bundle      string              // the file of certificates for them
	secrets     []string            // their values, as variables
	statusLine  statusLine
	telemetry   *telemetry.Run // nil: there is no collector
	watch       watch.Hub      // of the workspace

	warnsAll bool

	closing sync.Once
	closed  error // by Close
}

// Options configure a session. Only Dir is required.
type Options struct {
	Dir     string          // the workspace, canonical
	AddDirs []string        // further directories of it, absolute
	Within  []string        // directories of the workspace that the session is restricted to; nil: all
	Flags   []settings.Flag // settings that the user gave for this run
	// SingleCall is for a session of one call: existing files count as read, and tools need no conversation.
	SingleCall bool
	// Sampling lets MCP servers use the session's model. Until it is opened, such requests fail.
	Sampling bool
	// Record is how the session is recorded; nil: it isn't.
	Record *recording.Options
	// SystemPrompt replaces the first agent's instructions, and AppendSystemPrompt is added to its system prompt.
	SystemPrompt, AppendSystemPrompt string
	// Place is where the agent runs for the user, as in [agent.Surroundings].
	Place string
	// Editor writes files in the user's editor, or is nil, as in [builtin.Options].
	Editor func(ctx context.Context, path, text string) error
	// Result is the schema of the result that the model returns instead of text; nil: text.
	Result *builtin.ResultSchema
	// Log receives requests to models and their answers, as JSON Lines; nil: none.
	Log io.Writer
	// Interactive means that the front end itself shows how many settings need trust.
	Interactive bool
	// Tools are tools of the program that embeds the session, beside the built-in ones.
	Tools []tool.Tool
	// Exclude reports whether a built-in tool is removed, besides those that settings remove; nil: none.
	Exclude func(tool.Declaration) bool
	// NoModel means that there is no conversation: subagents are not offered.
	NoModel bool
	// AllWarnings reports every ignored setting and rule, not only the first ten.
	AllWarnings bool
}

// Open reads the settings and makes the tools and the policy. It starts no external tools.
func Open(env project.Env, o Options) (*Session, error) {
	directory, err := env.Directory(o.Dir)
	if err != nil {
		return nil, err
	}
	s := &Session{
		ID: o.Record.SessionID(), Directory: directory, Env: env, warnsAll: o.AllWarnings,
		wake: make(chan struct{}, 1), result: o.Result, place: o.Place,
		replaced: o.SystemPrompt, appended: o.AppendSystemPrompt,
	}
	s.own, s.apart = o.Tools, o.Exclude
	s.Tasks = backgroundTasks{s}
	trusted := false
	if s.Settings, trusted, err = directory.Settings(o.Flags...); err != nil {
		return nil, err
	}
	s.Definitions = definitions.Read(directory, trusted, s.Settings.Context,
		func(skill string, allowed []string) error { return s.Rules.Use(skill, allowed) })
	directory.TellNotes(s.Settings, o.Interactive)
	s.warnIgnored()
	hidden, err := s.openCredentials()
	if err != nil {
		return nil, err
	}
	s.Env.Environ = models.WithoutKeys(env.Environ, s.Settings.Model, hidden...)
	s.Models = models.New(env, directory.Home, s.Settings, requestlog.New(o.Log, env.Warn))
	if err = s.openTelemetry(); err != nil {
		return nil, err
	}
	if s.Rules, err = rules.Read(directory, s.Settings, s.Definitions.Plugins); err != nil {
		return nil, err
	}
	if s.long.Dir, err = spill.Open(directory.Home, s.ID, spill.Limits{}); err != nil {
		return nil, err
	}
	if s.Tools, err = builtin.New(s.toolOptions(o)); err != nil {
		return nil, errors.Join(project.Errorf(project.ErrDirectories, "%v", err), s.long.Close())
	}
	for _, note := range s.Tools.Skipped() {
		s.Env.Notice(note)
	}
	if err := directory.RecoverTrials(s.Tools.Roots()); err != nil {
		s.Env.Warn("%v", err)
	}
	world := permission.World{
		Roots: s.Tools.Roots(), Home: project.Canonical(env.Home), State: project.Canonical(directory.Home),
		Spill: filepath.Dir(s.long.Root()), // of all sessions: a later call may read an earlier session's
		Disk:  ondisk.New(s.Tools.Roots()), Place: s.Place, Secrets: s.Tools.Secrets,
		Lines:   &s.lines,
		Network: s.Settings.Tools.Trial != project.Untried,
	}
	registry, err := s.registry(o.SingleCall)
	if err != nil {
		return nil, errors.Join(err, s.Tools.Close(), s.long.Close())
	}
	if s.Policy, err = s.Rules.Open(world, s.allTools(), s.warnAll); err != nil {
		return nil, errors.Join(err, s.Tools.Close(), s.long.Close())
	}
	s.Executor = &tool.Executor{
		Registry: registry,
		Policy:   s.Rules.Judge(),
		Ask:      s.denyAll,
		Budget:   outputBudget(s.Settings.Tools.OutputThreshold),
		Mask:     s.Tools.Mask,
		Check:    s.Tools.Check,
		Spill:    s.long.save,
	}
	if err := s.record(o.Record); err != nil {
		return nil, errors.Join(err, s.Tools.Close(), s.long.Close())
	}
	if err := s.openHooks(); err != nil {
		return nil, errors.Join(err, s.Tools.Close(), s.long.Close())
	}
	s.openStatusLine()
	s.warnUnproxied()
	outside := external.Options{
		Env: s.Env, Directory: directory, Settings: s.Settings, Plugins: s.Definitions.Plugins, Executor: s.Executor,
		Window: s.Models.ContextWindow, Traceparent: s.telemetry.Traceparent,
	}
	if o.Sampling {
		outside.Sample = s.Models.Sample
	}
	s.Outside = external.New(outside)
	s.Attachments = attach.New(attach.Session{
		Env: s.Env, Tools: s.Tools, Policy: s.Policy, Executor: s.Executor, External: s.Outside, Warn: s.warnAll,
	})
	return s, nil
}

// registry returns a registry of all built-in tools that hides unusable ones: excluded tools and, in a conversation,
// those whose needs aren't met.
func (s *Session) registry(single bool) (*tool.Registry, error) {
	offered := map[string]bool{}
	for _, t := range slices.Concat(s.Tools.Tools(), s.own) {
		offered[t.Declaration().Name] = true
	}
	r := tool.NewRegistry()
	err := r.Set("", s.allTools())
	r.Hide(func(d tool.Declaration) bool { return !single && d.Origin == "" && !offered[d.Name] })
	r.Exclude(s.removed)
	return r, err
}

// allTools returns the built-in tools and those of the program that embeds the session.
func (s *Session) allTools() []tool.Tool { return slices.Concat(s.Tools.All(), s.own) }

// removed reports whether settings or the program that embeds the session remove a tool.
func (s *Session) removed(d tool.Declaration) bool {
	return s.Rules.Removed(d) || s.apart != nil && d.Origin == "" && !s.owns(d) && s.apart(d)
}

func (s *Session) owns(d tool.Declaration) bool {
	return slices.ContainsFunc(s.own, func(t tool.Tool) bool { return t.Declaration().Name == d.Name })
}

// toolOptions returns the options of the tools.
func (s *Session) toolOptions(o Options) builtin.Options {
	dirs := slices.Concat([]string{o.Dir}, o.AddDirs, s.Directory.Included(s.Settings))
	if o.Within != nil {
		dirs = o.Within
	}
	task := s.delegate
	if l := s.Settings.Limits; o.NoModel || l.DepthSet && l.Depth == 0 {
		task = nil
	}
	return builtin.Options{
		Result: s.result, NoGitIgnore: !s.Settings.Context.GitIgnore,
		IgnoreFiles: settings.Texts(s.Settings.Context.IgnoreFiles),
		Dir:         dirs[0], AddDirs: dirs[1:], State: s.Directory.Home, Saved: filepath.Dir(s.long.Root()),
		History: s.historyOf(o.Record), AllRead: o.SingleCall, Sandbox: s.sandbox(s.Settings.Tools),
		Helper: s.Env.Helper, Environ: s.Env.Environ,
		MaskEnviron: append(slices.Clip(s.Directory.Env.ProgramEnviron()), s.secrets...),
		NoSecrets:   settings.Texts(s.Settings.Tools.NotSecret),
		PassEnv:     settings.Texts(s.Settings.Tools.PassEnv), Env: settings.Texts(s.Settings.Tools.Env),
		Output: s.long.output, Editor: o.Editor,
		Kept: func(c tool.Call, paths []builtin.KeptPath) { s.Effects.Kept(c, paths) },
		Mode: func() string { return s.Policy.Mode().String() }, SetMode: s.SetMode, HasUser: s.Env.HasUser,
		Session: true, Exclude: s.removed,
		FindTools: s.findTools, Task: task, Tasks: s.Tasks, JobEnded: s.awaken,
		TaskTypes: s.Definitions.TaskTypes(), Skills: s.Definitions.Skills,
		Servers: s.languageServers(dirs), WithoutSandbox: s.Settings.LSP.Unsandboxed,
		ContextNames: s.Definitions.Names, WebFetch: s.webFetch(), WebSearch: webSearch(s.Env, s.Settings.Web),
		Remembered: func(string) {
			if s.Conversation != nil {
				s.Conversation.news.remembered()
			}
		},
	}
}

// record starts recording, and restores the state of a resumed session.
func (s *Session) record(o *recording.Options) (err error) {
	s.Recorder, s.Resumed, err = recording.Open(o, recording.Session{
		ID: s.ID, Off: !s.Settings.General.ChatRecording, Directory: s.Directory, Env: s.Env, Policy: s.Policy,
		Tools: s.Tools,
	})
	if err != nil {
		return err
	}
	if s.Resumed != nil {
		s.Definitions.Resume(s.Resumed.Began, s.Resumed.History)
	}
	s.Effects = effects.New(effects.Session{
		ID: s.ID, Directory: s.Directory, Env: s.Env, Settings: s.Settings, Policy: s.Policy, Tools: s.Tools,
		Definitions: s.Definitions, Recorder: s.Recorder, Elsewhere: o != nil && o.Elsewhere != nil, Watch: &s.watch,
	})
	if s.Executor.Around = s.Effects.Around; s.Recorder != nil {
		s.Executor.Tries = s.Recorder.Tries
	}
	return nil
}

// historyOf returns a function that returns the recorded conversation of an agent as text; nil: there is no journal.
func (s *Session) historyOf(o *recording.Options) func(by string) (string, error) {
	if o == nil || o.Off || o.Elsewhere != nil || !s.Settings.General.ChatRecording {
		return nil
	}
	return func(by string) (string, error) {
		s.Recorder.Works() // waits until the journal exists
		var b strings.Builder
		err := record.Of(s.Directory).History(&b, s.ID, by)
		return b.String(), err
	}
}

// Close stops everything that the session has started. Further calls return the same error.
func (s *Session) Close() error {
	s.closing.Do(func() { s.closed = s.close() })
	return s.closed
}

func (s *Session) close() error {
	if s.Conversation != nil {
		s.Conversation.crew.Close()
	}
	s.Models.Close()
	s.Outside.Close()
	closeRecord := func() {
		s.Effects.Killed()
		s.Recorder.Close()    // after everything that is recorded
		_ = s.Effects.Close() // a later session drops the rest
	}
	var closing sync.WaitGroup
	quiet := s.hooks == nil && len(s.Tools.Running()) == 0 // nothing more is recorded
	if quiet {
		closing.Go(closeRecord)
	}
	err := errors.Join(s.Tools.Close(), s.hooks.Close(), s.statusLine.runner.Close())
	s.telemetry.Close()
	if !quiet {
		closeRecord()
	}
	closing.Wait()
	os.Remove(s.bundle) // if there is one
	err = errors.Join(err, s.long.Close())
	record.Of(s.Directory).Retain(s.Settings.General)
	return err
}

// findTools finds external tools and declares them to the calling agent.
func (s *Session) findTools(ctx context.Context, c tool.Call, query string, limit int) []tool.Declaration {
	s.Outside.Settle(ctx)
	if s.Conversation == nil { // there is no model to declare tools to; a user may search for them
		all := slices.DeleteFunc(s.Executor.Registry.All(), func(d tool.Declaration) bool { return d.Origin == "" })
		return discover.Rank(query, all, limit)
	}
	found := discover.Rank(query, s.Conversation.catalog.Tools(c.By), limit)
	for _, d := range found {
		s.Conversation.catalog.Reveal(c.By, d.Name)
	}
	return found
}

// delegate runs a task in a subagent.
func (s *Session) delegate(ctx context.Context, r builtin.TaskRequest) (tool.Result, error) {
	if s.Conversation == nil {
		return tool.Result{}, tool.Errorf(tool.ExecutionFailed, "run a subagent: no model in this session")
	}
	return s.Conversation.crew.Do(ctx, agent.Task{
		Description: r.Description, Prompt: r.Prompt, Type: r.Type, Background: r.Background, Live: r.Live,
	})
}

// backgroundTasks are the background subagents of a session; there are none before it has a conversation.
type backgroundTasks struct{ s *Session }

func (b backgroundTasks) Jobs() []builtin.TaskJob {
	var jobs []builtin.TaskJob
	if b.s.Conversation != nil {
		for _, j := range b.s.Conversation.crew.Jobs() {
			jobs = append(jobs, taskJob(j))
		}
	}
	return jobs
}

func (b backgroundTasks) Job(ctx context.Context, id string) (builtin.TaskJob, error) {
	j, err := b.s.Conversation.crew.Job(ctx, id)
	return taskJob(j), err
}

func (b backgroundTasks) Stop(ctx context.Context, id string) (builtin.TaskJob, error) {
	j, err := b.s.Conversation.crew.Stop(ctx, id)
	return taskJob(j), err
}

func taskJob(j agent.Job) builtin.TaskJob {
	return builtin.TaskJob{ID: j.ID, Running: j.Running, Display: j.Display, Report: j.Report}
}

// RunAsUser runs a command that the user typed, without a permission prompt. observe receives its events, such as the
// end of its output while it runs; it may be nil.
func (s *Session) RunAsUser(ctx context.Context, command string, observe func(tool.Event)) (tool.Outcome, error) {
	args, err := json.Marshal(map[string]any{"command": command, "timeout": 600_000})
	if err != nil {
		return tool.Outcome{}, err
	}
	shell, err := s.shell() // the user may run commands that the model may not
	if err != nil {
		return tool.Outcome{}, err
	}
	own := &tool.Executor{
		Registry: tool.NewRegistry(shell), Mask: s.Executor.Mask, Spill: s.Executor.Spill, Budget: s.Executor.Budget,
		Observe: observe,
		Policy: func(tool.Request) tool.Decision {
			return tool.Decision{Verdict: tool.Allow, Cause: tool.Cause{Kind: tool.ByUser}}
		},
	}
	return own.Run(ctx, tool.Call{Name: shell.Declaration().Name, Args: args}), nil
}

// Shell returns the declaration of the tool that runs commands.
func Shell(r *tool.Registry) (tool.Declaration, error) {
	for _, d := range r.All() {
		if d.Kind == tool.Execute && d.Origin == "" {
			return d, nil
		}
	}
	return tool.Declaration{}, errors.New("no tool that runs commands")
}

// shell returns the tool that runs commands, even if the model doesn't have it.
func (s *Session) shell() (tool.Tool, error) {
	all := tool.NewRegistry(s.Tools.All()...)
	d, err := Shell(all)
	if err != nil {
		return nil, err
	}
	return all.Lookup(d.Name)
}

// results are the files of results that are too long for the model.
type results struct{ *spill.Dir }

// save saves the text of a result.
func (r results) save(c tool.Call, text string) (tool.Spilled, error) {
	saved, err := r.Save(c.ID, c.Name, text)
	return tool.Spilled{Path: saved.Path, Dropped: saved.Dropped}, err
}

// output opens a file for a command's output.
func (r results) output(c tool.Call) (io.WriteCloser, string, error) { return r.named(c, c.Name) }

// named opens a file with a name for a call.
func (r results) named(c tool.Call, name string) (io.WriteCloser, string, error) {
	f, err := r.Create(c.ID, name)
	if err != nil {
		return nil, "", err
	}
	return f, f.Saved().Path, nil
}

// outputBudget converts the setting, where 0 and less mean no limit, to the executor's.
func outputBudget(threshold int) int {
	if threshold <= 0 {
		return -1
	}
	return threshold
}

// addedDirs returns the directories of the workspace after the first one, for the model.
func (s *Session) addedDirs() []string {
	var out []string
	for _, root := range s.Tools.Roots() {
		if root != s.Directory.Path {
			out = append(out, tool.Visible(root))
		}
	}
	return out
}

// Inherit copies the user's choices from another session: the mode, the rules and the model.
func (s *Session) Inherit(ctx context.Context, from *Session) error {
	if err := s.Rules.Inherit(s.Executor, from.Rules); err != nil {
		return err
	}
	s.Settings.Model.Effort = from.Settings.Model.Effort
	name := from.Models.Name()
	if m, err := s.Models.Open(ctx); name == "" || err == nil && m.Name() == name {
		return nil
	}
	_, err := s.Models.Switch(ctx, name)
	return err
}
