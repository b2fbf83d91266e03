// Package builtin has the tools that come with Adze: files, search, commands, the web, subagents, plans and todos.
//
//	helper := builtin.Main() // first in main
//	set, err := builtin.New(builtin.Options{Dir: "/home/me/app", Helper: helper})
//	if err != nil {
//		return err
//	}
//	defer set.Close()
//	x := tool.Executor{Registry: tool.NewRegistry(set.Tools()...), Policy: policy, Mask: set.Mask, Check: set.Check}
//
// # Choose tools
//
// [Set.Tools] returns the tools whose needs the [Options] meet. Without Options.Task, for example, the tool task is
// missing, and without Options.HasUser the tools that ask the user. Options.Exclude removes more.
//
// # Commands
//
// [Main] makes the program its own helper, which sandboxes commands and stops their process trees; a program that
// embeds the tools calls it before anything else. Options.Sandbox selects the sandbox. [Set.Jobs] lists background
// commands, and [Set.News] returns messages for the model before its next turn, such as a background command that
// exited.
//
// # Add a tool
//
// A tool is one file of code, its description for the model beside it (x.md), its stories in testdata (x.txtar), and
// one line in the list in builtin.go. What other packages need to know about a tool is in its declaration, and what a
// call touches is in its access: no other package has a list of tool names.
package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/adze-dev/adze/builtin/command"
	"github.com/adze-dev/adze/builtin/todo"
	"github.com/adze-dev/adze/builtin/web"
	"github.com/adze-dev/adze/internal/engine/homedir"
	"github.com/adze-dev/adze/internal/engine/secretvalues"
	"github.com/adze-dev/adze/internal/engine/sums"
	"github.com/adze-dev/adze/internal/engine/workspace"
	"github.com/adze-dev/adze/tool"
)

// Options configure the tools of a session.
type Options struct {
	// Dir is the workspace: relative paths begin there.
	Dir string
	// Imagined means that Dir need not exist: calls are judged, and none is run.
	Imagined bool
	// AddDirs are further directories of the workspace.
	AddDirs []string
	// State is a directory of Adze's own, for the old content of files that had to be written in place. Empty: such
	// writes fail. No search and no auto-approved command reads it, except Saved.
	State string
	// Saved is a directory in State with results that were too large for the model, which may read them; may be empty.
	Saved string
	// History returns the conversation of an agent from its start as text, by its path: see [HistoryPath]. May be nil.
	History func(by string) (string, error)
	// AllRead treats every existing file as read, for a session of one call.
	AllRead bool
	// Helper is the result of [Main]. It stops and sandboxes commands.
	Helper Helper
	// Environ is the environment of commands, which get it without credentials; nil: this process's.
	Environ []string
	// MaskEnviron is an environment whose secret values are masked in results besides those of Environ, which may lack
	// them.
	MaskEnviron []string
	// NoSecrets are exceptions from Mask: kinds of tokens, such as jwt, and patterns for paths of files whose tokens
	// are shown.
	NoSecrets []string
	// PassEnv names variables that commands get even if they look like a credential.
	PassEnv []string
	// Env are variables for tried commands, which otherwise get only those that builds commonly need: names, or
	// NAME=value. What looks like a credential is never passed. Approved commands get the values too.
	Env []string
	// Sandbox selects the sandbox that commands run in; its zero value is auto.
	Sandbox Sandbox
	// Kept is called with what a tried command changed, before the result is made; may be nil.
	Kept func(tool.Call, []KeptPath)
	// Output opens a file for the full output of a command, if that is too long for the result, and returns its path.
	// Nil: the rest is lost, and the result says so.
	Output func(tool.Call) (io.WriteCloser, string, error)
	// Remembered is called with a context file that a fact was added to, to load it at once; nil: the next session
	// loads it.
	Remembered func(path string)
	// Mode returns the current approval mode. SetMode changes it and has open questions judged again. Nil: there are no
	// modes, and the tools of plan mode are not offered.
	Mode    func() string
	SetMode func(mode string) error
	// HasUser means that a user answers the executor's questions. Without one, tools that ask the user are not offered.
	HasUser bool
	// Session means that the tools serve a conversation: its front end passes News on to the model before each turn and
	// loads context files at the start. Without it, tools that only matter in a conversation are not offered.
	Session bool
	// Editor, if it isn't nil, writes a text file in the user's editor, before Adze makes sure that it has exactly the
	// new content. After an error, the file isn't written.
	Editor func(ctx context.Context, path, text string) error
	// Exclude reports whether a tool is not offered; nil: none is excluded.
	Exclude func(tool.Declaration) bool
	// Task runs a subagent; nil: task is not offered.
	Task func(context.Context, TaskRequest) (tool.Result, error)
	// Tasks are the subagents that run in the background; may be nil.
	Tasks TaskJobs
	// TaskTypes are the types of subagents that the model can choose from.
	TaskTypes []TaskType
	// JobEnded is called when a background command has ended, so that a front end can pass on the news; may be nil.
	JobEnded func()
	// Skills are the skills that the model may load; without any, skill is not offered.
	Skills []Skill
	// FindTools searches tools for tool_search; nil: tool_search is not offered.
	FindTools FindTools
	// ContextNames are the names of context files, which save_memory adds to; nil: AGENTS.md and QWEN.md.
	ContextNames []string
	// WebFetch and WebSearch configure web_fetch and web_search.
	WebFetch  web.FetchOptions
	WebSearch web.SearchOptions
	// Result is the schema of the result for structured_output; nil: it is not offered.
	Result *ResultSchema
	// NoGitIgnore shows git-ignored files in listings and searches. IgnoreFiles are further names of AI ignore files.
	NoGitIgnore bool
	IgnoreFiles []string
	// Servers are the installed language servers for the project; without any, code is not offered. WithoutSandbox lets
	// them run where there is no sandbox.
	Servers        []LanguageServer
	WithoutSandbox bool
}

// LanguageServer is a program that knows a language.
type LanguageServer struct {
	Name    string
	Command []string // how it is started; Program is in place of the first word
	// Files are the languages, by the extensions of their files: ".go" is "go".
	Files map[string]string
	// Init are the options of the initialization, and Settings those that the server asks for, by section.
	Init     json.RawMessage
	Settings map[string]json.RawMessage
	// TSServer means that diagnostics are asked from TypeScript's own server.
	TSServer bool
	Version  []string // arguments with which it prints its version
	Install  string   // how users install it
	Program  string   // path
}

// Set is the tools of one session and their shared state, such as which files were read and which jobs run.
type Set struct {
	files  *files
	shell  *command.Shell
	lsp    *servers
	closed atomic.Bool
	todos  todo.Lists
	plans  *planning
	result *result
	tools  []tool.Tool // all of them

	task func(types []TaskType) tool.Tool
}

// New makes the tools of a session.
func New(o Options) (*Set, error) {
	f, err := newFiles(o)
	if err != nil {
		return nil, fmt.Errorf("open the workspace: %w", err)
	}
	if o.Environ == nil {
		o.Environ = homedir.Environ(os.Environ())
	}
	f.values = newSecretValues(o, f)
	sh, err := newShell(o, f)
	if err != nil {
		return nil, fmt.Errorf("prepare to run commands: %w", err)
	}
	fetch, err := web.Fetch(o.WebFetch)
	if err != nil {
		return nil, fmt.Errorf("prepare to fetch pages: %w", err)
	}
	s := &Set{files: f, shell: sh, plans: newPlanning(o), result: &result{schema: o.Result}}
	s.lsp = newServers(o, f, sh)
	s.tools = []tool.Tool{
		listDirectory(f),
		readFile(f),
		readManyFiles(f),
		grepSearch(f),
		glob(f),
		writeFile(f),
		editFile(f),
		applyPatch(f),
		editLines(f),
		notebookEdit(f),
		code(f, s.lsp),
		runShellCommand(f, sh),
		shellOutput(f, sh, taskJobs{o.Tasks}),
		shellStop(f, sh, taskJobs{o.Tasks}),
		fetch,
		web.Search(o.WebSearch, func() string { return f.offer.hint("web_fetch", " Read a page with web_fetch.") }),
		saveMemory(f, o.Remembered),
		s.todos.Write(),
		enterPlanMode(s.plans),
		exitPlanMode(s.plans),
		task(o.Task, o.TaskTypes),
		askUserQuestion(),
		skill(o.Skills),
		toolSearch(o.FindTools),
		structuredOutput(s.result),
	}
	f.offer.choose(s.tools, o)
	for i, t := range s.tools {
		s.tools[i] = f.offer.worded(t)
	}
	s.task = func(types []TaskType) tool.Tool { return f.offer.worded(task(o.Task, types)) }
	return s, nil
}

// SetTaskTypes replaces the types of subagents that the model can choose from. Tools and All return another tool from
// then on, so it must come before the first call.
func (s *Set) SetTaskTypes(types []TaskType) {
	fresh := s.task(types)
	for i, t := range s.tools {
		if t.Declaration().Name == fresh.Declaration().Name {
			s.tools[i] = fresh
		}
	}
}

// Tools returns the tools whose needs the options meet, without the excluded ones, in the order of the documentation.
// Their texts mention no other tools.
func (s *Set) Tools() []tool.Tool {
	return slices.DeleteFunc(s.All(), func(t tool.Tool) bool { return !s.files.offer.has(t.Declaration().Name) })
}

// All returns every tool, including excluded ones and those whose needs aren't met: for documentation, and for judging
// calls that are not run. A call of a tool whose needs aren't met fails and reports why.
func (s *Set) All() []tool.Tool { return slices.Clone(s.tools) }

// Roots returns the directories of the workspace, with links resolved, as a policy compares paths with them.
func (s *Set) Roots() []string { return s.files.ws.Roots() }

// OtherShell returns the name of the shell that runs commands, if it isn't bash: [tool.Command].Shell.
func (s *Set) OtherShell() string { return s.shell.OtherShell() }

// Skipped describes, in sentences, the directories of [Options].AddDirs that are not in the workspace because commands
// could have chosen where they lead.
func (s *Set) Skipped() []string { return s.files.ws.Skipped() }

// Mask replaces secrets in a text by placeholders: the values of the environment, of git's configuration and of
// well-known files of credentials, and tokens with a checkable form. It is the Mask of a [tool.Executor].
func (s *Set) Mask(text string) string { return s.files.values.Mask().String(text) }

// MaskKnown is Mask without a look for new values on disk: for the journal of texts that Mask has seen.
func (s *Set) MaskKnown(text string) string { return s.files.values.Known().String(text) }

// SecretKinds returns the kinds of the secrets in a text, such as github-token.
func (s *Set) SecretKinds(text string) []string { return s.files.values.Mask().Kinds(text) }

func newSecretValues(o Options, f *files) *secretvalues.List {
	home := ""
	for _, kv := range o.Environ {
		if v, ok := strings.CutPrefix(kv, "HOME="); ok {
			home = v
		}
	}
	if home == "" {
		home, _ = homedir.Dir()
	}
	return secretvalues.New(secretvalues.Options{
		Environ: slices.Concat(o.Environ, o.MaskEnviron), Home: home, State: o.State, Roots: f.ws.Roots(),
		Except: o.NoSecrets,
	})
}

// FileRecord is what the session has read of a file.
type FileRecord struct {
	Path   string
	Hash   string // SHA-256 of the content, in hex; "": nothing is known about the file anymore
	Lines  int
	Whole  bool
	Opaque bool     // read, but not as text
	Read   [][2]int // first and last line of each range, if not whole
}

// TakeSeen returns the records of files that the session has read and written since the last call, for the paths that
// of accepts.
func (s *Set) TakeSeen(of func(path string) bool) (out []FileRecord) {
	for _, r := range s.files.seen.Take(of) {
		out = append(out, FileRecord(r))
	}
	return out
}

// RestoreSeen adds the records of an earlier session. A file that has changed since must be read again.
func (s *Set) RestoreSeen(records []FileRecord) {
	for _, r := range records {
		s.files.seen.Restore(workspace.Record(r))
	}
}

// Sums remembers the contents that the file tools have hashed.
func (s *Set) Sums() *sums.Recent { return s.files.sums }

// Close stops everything that the tools started. [Set.Check] then rejects all calls.
func (s *Set) Close() error {
	s.closed.Store(true)
	s.lsp.Close()
	return errors.Join(s.shell.Close(), s.files.left.close())
}

// Warm makes the first command start sooner. It doesn't wait, and does nothing after Close.
func (s *Set) Warm() { s.shell.WarmUp() }

// Todos returns the to-do list of an agent, by its path as in [tool.Call].By: "" is the first agent. It must not be
// modified.
func (s *Set) Todos(by string) todo.List { return s.todos.Of(by) }

// SetTodos restores the list of an agent, as of an earlier session. With an invalid item it sets nothing and returns an
// error.
func (s *Set) SetTodos(by string, list todo.List) error { return s.todos.Set(by, list) }

// News returns messages for the first agent before its next turn: background jobs that have ended and, now and then,
// open steps of its to-do list. It is called once a turn.
func (s *Set) News() []string { return append(s.shell.News(), s.todos.News()...) }

// Running returns the IDs of the running background commands.
func (s *Set) Running() []string {
	var ids []string
	for _, j := range s.shell.Jobs() {
		if j.Running {
			ids = append(ids, j.ID)
		}
	}
	return ids
}

// JobNews returns the part of News about background jobs that have ended, for a front end that doesn't wait for the
// next turn.
func (s *Set) JobNews() []string { return s.shell.News() }

// Background moves the commands that run in the foreground to the background, as a user who waits may want. It returns
// their IDs there.
func (s *Set) Background() []string { return s.shell.Background() }
