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
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/internal/app/models"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/record"
	"github.com/adze-dev/adze/internal/app/requestlog"
	"github.com/adze-dev/adze/internal/app/settings"
	"github.com/adze-dev/adze/internal/app/spill"
	"github.com/adze-dev/adze/internal/app/undo"
	"github.com/adze-dev/adze/internal/engine/broker"
	"github.com/adze-dev/adze/internal/engine/workspace/watch"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/permission/ondisk"
	shellread "github.com/adze-dev/adze/permission/shell"
	"github.com/adze-dev/adze/tool"
)

// Session is the tools of one run, with their policy.
type Session struct {
	ID          string
	Directory   project.Directory
	Settings    *settings.Settings
	Definitions *Definitions
	Policy      *permission.Policy
	Executor    *tool.Executor
	Outside     *Outside
	Models      *models.Models
	Env         project.Env
	Tools       *builtin.Set
	// Conversation is nil before Converse.
	Conversation *Conversation

	world permission.World
	lines shellread.Lines // of its calls
	long  results
	core  *permission.Core            // the only built-in tools; nil: all
	out   func(tool.Declaration) bool // the tools that settings remove
	wake  chan struct{}               // holds a token after background work has ended

	result             *builtin.ResultSchema // nil: the model replies with text
	replaced, appended string                // of the system prompt

	own      ownRules
	skills   skillLimits
	hiddenBy atomic.Uint64 // the version of the rules by which the sandbox hides files

	hooks       *hooks       // nil: there are none
	hookList    []ListedHook // those of settings
	afterChange []afterChange
	credentials *broker.Credentials // of requests of commands; nil: there are none
	bundle      string              // the file of certificates for them
	secrets     []string            // their values, as variables
	statusLine  statusLine
	recorder    *recorder     // nil: nothing is recorded
	tracker     *undo.Tracker // of changes
	jobs        backgroundJobs
	watch       watch.Hub // of the workspace
	resumed     *resumed  // the session that the conversation continues; nil: it is new

	warnsAll bool
	images   images
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
	Record *Recording
	// SystemPrompt replaces the first agent's instructions, and AppendSystemPrompt is added to its system prompt.
	SystemPrompt, AppendSystemPrompt string
	// Result is the schema of the result that the model returns instead of text; nil: text.
	Result *builtin.ResultSchema
	// Log receives requests to models and their answers, as JSON Lines; nil: none.
	Log io.Writer
	// Interactive means that the front end itself shows how many settings need trust.
	Interactive bool
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
		ID: o.Record.id(), Directory: directory, Env: env, warnsAll: o.AllWarnings,
		wake: make(chan struct{}, 1), result: o.Result, replaced: o.SystemPrompt, appended: o.AppendSystemPrompt,
		jobs: backgroundJobs{all: map[undo.Ref]backgroundJob{}},
	}
	trusted := false
	if s.Settings, trusted, err = directory.Settings(o.Flags...); err != nil {
		return nil, err
	}
	s.Definitions = readDefinitions(directory, trusted, s.Settings.Context, s.use)
	directory.TellNotes(s.Settings, o.Interactive)
	s.warnIgnored()
	hidden, err := s.openCredentials()
	if err != nil {
		return nil, err
	}
	s.Env.Environ = models.WithoutKeys(env.Environ, s.Settings.Model, hidden...)
	s.Models = models.New(env, directory.Home, s.Settings, requestlog.New(o.Log, env.Warn))
	if err = s.selectTools(); err != nil {
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
	s.world = permission.World{
		Roots: s.Tools.Roots(), Home: project.Canonical(env.Home), State: project.Canonical(directory.Home),
		Spill: filepath.Dir(s.long.Root()), // of all sessions: a later call may read an earlier session's
		Disk:  ondisk.New(s.Tools.Roots()), Place: s.Place, Secrets: s.Tools.Secrets,
		Lines:   &s.lines,
		Network: s.Settings.Tools.Trial != project.Untried,
	}
	s.Policy = permission.New(s.world, permission.Mode(s.Settings.Tools.ApprovalMode))
	if err := s.setRules(); err != nil {
		return nil, errors.Join(err, s.Tools.Close(), s.long.Close())
	}
	s.Executor = &tool.Executor{
		Registry: s.registry(o.SingleCall),
		Policy:   s.judge(),
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
	s.openAfterChange()
	s.openStatusLine()
	s.warnUnproxied()
	s.Outside = &Outside{
		env: s.Env, directory: directory, settings: s.Settings, plugins: s.Definitions.plugins, executor: s.Executor,
		models: s.Models,
	}
	if o.Sampling {
		s.Outside.sample = s.Models.Sample
	}
	return s, nil
}

// registry returns a registry of all built-in tools that hides unusable ones: excluded tools and, in a conversation,
// those whose needs aren't met.
func (s *Session) registry(single bool) *tool.Registry {
	offered := map[string]bool{}
	for _, t := range s.Tools.Tools() {
		offered[t.Declaration().Name] = true
	}
	r := tool.NewRegistry(s.Tools.All()...)
	r.Hide(func(d tool.Declaration) bool {
		return s.out(d) || !single && d.Origin == "" && !offered[d.Name]
	})
	return r
}

// toolOptions returns the options of the tools.
func (s *Session) toolOptions(o Options) builtin.Options {
	dirs := slices.Concat([]string{o.Dir}, o.AddDirs, s.Directory.Included(s.Settings))
	if o.Within != nil {
		dirs = o.Within
	}
	task := s.delegate
	if l := s.Settings.Limits; l.DepthSet && l.Depth == 0 {
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
		Output: s.long.output, Kept: s.kept,
		Mode: func() string { return s.Policy.Mode().String() }, SetMode: s.SetMode, HasUser: s.Env.HasUser,
		Session: true, Exclude: s.out,
		FindTools: s.findTools, Task: task, Tasks: s.Tasks(), JobEnded: s.awaken,
		TaskTypes: s.Definitions.TaskTypes(), Skills: s.Definitions.Skills,
		Servers: s.languageServers(dirs), Unsandboxed: s.Settings.LSP.Unsandboxed,
		ContextNames: s.Definitions.names, WebFetch: s.webFetch(), WebSearch: webSearch(s.Env, s.Settings.Web),
		Remembered: func(string) {
			if s.Conversation != nil {
				s.Conversation.news.remembered()
			}
		},
	}
}

// Close stops everything that the session has started.
func (s *Session) Close() error {
	if s.Conversation != nil {
		s.Conversation.crew.Close()
	}
	s.Models.Close()
	s.Outside.close()
	closeRecord := func() {
		s.recorder.give(s.tracker.Ended(context.Background(), true)) // background commands are killed now
		s.recorder.close()                                           // after everything that is recorded
		_ = s.closeTracker()                                         // a later session drops the rest
	}
	var closing sync.WaitGroup
	quiet := s.hooks == nil && len(s.Tools.Running()) == 0 // nothing more is recorded
	if quiet {
		closing.Go(closeRecord)
	}
	err := errors.Join(s.Tools.Close(), s.hooks.close(), s.statusLine.runner.Close())
	if !quiet {
		closeRecord()
	}
	closing.Wait()
	os.Remove(s.bundle) // if there is one
	err = errors.Join(err, s.long.Close())
	record.Of(s.Directory).Retain(s.Settings.General)
	return err
}

// NewID returns a unique ID for a session or message.
func NewID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	s := hex.EncodeToString(b[:])
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}

// selectTools determines the tools that settings remove: those in tools.exclude and tools.disabled, and built-in ones
// that are not in tools.core.
func (s *Session) selectTools() error {
	t := s.Settings.Tools
	exclude, err := permission.Excluding(settings.Texts(t.Exclude))
	if err != nil {
		return project.Errorf(project.ErrRules, "read settings: tools.exclude: %v", err)
	}
	disabled, err := permission.Excluding(settings.Texts(t.Disabled))
	if err != nil {
		return project.Errorf(project.ErrRules, "read settings: tools.disabled: %v", err)
	}
	if t.Core != nil {
		if s.core, err = permission.ReadCore(written(t.Core)); err != nil {
			return project.Errorf(project.ErrRules, "read settings: tools.core: %v", err)
		}
		if len(t.Core) == 0 {
			s.Env.Warn("tools.core is an empty list: the model gets no built-in tools")
		}
	}
	s.out = func(d tool.Declaration) bool {
		return exclude(d) || disabled(d) || s.core != nil && !s.core.Has(d) && !d.Auxiliary
	}
	return nil
}

// Restricted denies a call of a tool that tools.core or tools.disabled removes, and one that specifiers in tools.core
// don't cover. It allows all others.
func Restricted(t settings.Tools, w permission.World, r tool.Request) (tool.Decision, error) {
	disabled, err := permission.Excluding(settings.Texts(t.Disabled))
	if err != nil {
		return tool.Decision{}, project.Errorf(project.ErrRules, "read settings: tools.disabled: %v", err)
	}
	if disabled(r.Declaration) {
		return tool.Decision{Reason: "tools.disabled removes " + r.Declaration.Name}, nil
	}
	if t.Core == nil {
		return tool.Decision{Verdict: tool.Allow}, nil
	}
	core, err := permission.ReadCore(written(t.Core))
	if err != nil {
		return tool.Decision{}, project.Errorf(project.ErrRules, "read settings: tools.core: %v", err)
	}
	if !core.Has(r.Declaration) && !r.Declaration.Auxiliary {
		return tool.Decision{Reason: r.Declaration.Name + " is not in tools.core"}, nil
	}
	if judge := core.Policy(w); judge != nil {
		return judge(r), nil
	}
	return tool.Decision{Verdict: tool.Allow}, nil
}

// judge returns the policy of the session's calls: the rules and the mode, restricted by specifiers in tools.core and
// by skills.
func (s *Session) judge() tool.Policy {
	judge := tool.Policy(s.Policy.Judge)
	if s.core != nil {
		judge = tool.Stricter(judge, s.core.Policy(s.world))
	}
	return s.skills.narrow(judge)
}

// Removed is the setting that removes a tool.
type Removed struct {
	Key  string // "tools.exclude"
	Text string // the entry; "" for tools.core, which has none
	From settings.Place
}

// Removes returns the setting that removes the built-in tool of this name; false if none does.
func (s *Session) Removes(name string) (Removed, bool) {
	t, err := tool.NewRegistry(s.Tools.All()...).Lookup(name)
	if err != nil || !s.out(t.Declaration()) {
		return Removed{}, false
	}
	for i, e := range slices.Concat(s.Settings.Tools.Exclude, s.Settings.Tools.Disabled) {
		if out, err := permission.Excluding([]string{e.Text}); err == nil && out(t.Declaration()) {
			key := "tools.exclude"
			if i >= len(s.Settings.Tools.Exclude) {
				key = "tools.disabled"
			}
			return Removed{key, e.Text, e.From}, true
		}
	}
	_, from := s.Settings.Value("tools.core")
	return Removed{Key: "tools.core", From: from[0]}, true
}

// unknownTools describes the entries of tools.core and tools.disabled that name no tool.
func (s *Session) unknownTools(tools []tool.Declaration) []string {
	var unused []tool.Rule
	if s.core != nil {
		unused = s.core.Unused(tools)
	}
	disabled, err := permission.ReadCore(written(s.Settings.Tools.Disabled))
	if err == nil && s.Settings.Tools.DiscoveryCommand == "" {
		for _, r := range disabled.Unused(tools) {
			r.List = "tools.disabled"
			unused = append(unused, r)
		}
	}
	var out []string
	for _, r := range unused {
		at := ""
		if r.Source != "" {
			at = r.Source + ": "
		}
		out = append(out, fmt.Sprintf("%s%s: unknown tool %q. This entry has no effect.%s", at, r.List, r.Text,
			didYouMean(r.Text, permission.ToolNames(tools))))
	}
	return out
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

// Tasks returns the background subagents.
func (s *Session) Tasks() builtin.TaskJobs { return backgroundTasks{s} }

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
	all := tool.NewRegistry(s.Tools.All()...) // the user may run commands that the model may not
	shell, err := Shell(all)
	if err != nil {
		return tool.Outcome{}, err
	}
	own := &tool.Executor{
		Registry: all, Mask: s.Executor.Mask, Spill: s.Executor.Spill, Budget: s.Executor.Budget, Observe: observe,
		Policy: func(tool.Request) tool.Decision {
			return tool.Decision{Verdict: tool.Allow, Cause: tool.Cause{Kind: tool.ByUser}}
		},
	}
	batch := own.Batch(ctx)
	batch.Add(tool.Call{Name: shell.Name, Args: args})
	return batch.Wait()[0], nil
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

// Recorded reports whether the session can be resumed.
func (s *Session) Recorded() bool {
	if s.recorder == nil {
		return false
	}
	s.recorder.lock()
	defer s.recorder.mu.Unlock()
	return s.recorder.w != nil
}

// Inherit copies the user's choices from another session: the mode, the rules and the model.
func (s *Session) Inherit(ctx context.Context, from *Session) error {
	s.Policy.Inherit(from.Policy)
	from.own.mu.Lock()
	own := from.own.rules
	from.own.mu.Unlock()
	for list, rules := range own {
		for _, r := range rules {
			if _, err := s.AddRule(list, r.Text); err != nil {
				return err
			}
		}
	}
	s.Settings.Model.Effort = from.Settings.Model.Effort
	name := from.Models.Name()
	if m, err := s.Models.Open(ctx); name == "" || err == nil && m.Name() == name {
		return nil
	}
	_, err := s.Models.Switch(ctx, name)
	return err
}
