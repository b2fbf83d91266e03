package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/builtin/todo"
	"github.com/adze-dev/adze/internal/app/approval"
	"github.com/adze-dev/adze/internal/app/console"
	"github.com/adze-dev/adze/internal/app/files"
	"github.com/adze-dev/adze/internal/app/record"
	"github.com/adze-dev/adze/internal/app/session"
	"github.com/adze-dev/adze/internal/app/slash"
	"github.com/adze-dev/adze/internal/app/statusline"
	"github.com/adze-dev/adze/internal/app/tui"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/proc"
	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// isInteractive reports whether a command line opens a conversation: no prompt, and a terminal on both sides.
func isInteractive(env Env, o *options, words []string) bool {
	_, in := console.File(env.Stdin)
	_, out := console.File(env.Stdout)
	return in && out && !o.hasPrompt && len(words) == 0 && (o.format == "" || o.format == formatText)
}

// runInteractive holds a conversation in the terminal.
func runInteractive(ctx context.Context, env Env, o *options) error {
	in, _ := console.File(env.Stdin)
	out, _ := console.File(env.Stdout)
	h := &screenHost{env: env, options: o, all: &hosts{}}
	h.env.notify = h.note
	command, err := pickFirst(env, o)
	if err != nil {
		return err
	}
	record, err := recorded(ctx, h.env, o)
	if err != nil {
		return err
	}
	log, err := openLog(env, o)
	if err != nil {
		return err
	}
	if log != nil {
		defer log.Close()
		h.log = log
	}
	s, err := openSession(h.env, o, session.Options{Sampling: true, Interactive: true, Record: record, Log: h.log})
	if err != nil {
		return err
	}
	can := slash.Lasts | slash.Quits | slash.Answers | slash.Chooses
	draws := !o.screenReader && !s.Settings.UI.ScreenReader && env.Getenv("TERM") != "dumb"
	if draws {
		can |= slash.Draws
	}
	if env.Getenv("TERM") != "dumb" {
		can |= slash.Copies
	}
	h.session, h.commands, h.files = s, slash.New(s, can), files.New(s.Directory.Path)
	s.Begin = h.conversation
	h.continues = s.Resumed.Title() != ""
	h.all.follow(h)
	defer h.all.end()
	if title := s.Resumed.Title(); title != "" {
		h.note("continues the session: " + title)
	}
	if !draws {
		lines := tui.NewLines(in, out, h, cmp.Or(o.firstPrompt, command), s.Settings.UI.OutputLines)
		for _, n := range h.early {
			lines.Tell(n)
		}
		if text := h.untrusted(); text != "" {
			lines.Tell(text + ". Review with 'adze trust'.")
		}
		lines.Earlier(earlier(s))
		h.front = lines
	} else {
		ui := s.Settings.UI
		s.Models.Quiet = true // the header shows which model was found
		for _, problem := range tui.CheckKeys(ui.Keys) {
			h.note("warning: " + problem)
		}
		h.front = tui.New(tui.Options{
			In: in, Out: out, Host: h, Header: h.header(h.early, command == "" && record.Resume == ""),
			Lookup: h.lookup,
			Prompt: o.firstPrompt, Command: command, Earlier: earlier(s),
			Theme: ui.Theme, NoColor: env.Getenv("NO_COLOR") != "", Notifications: ui.Notifications,
			HideTitle: ui.HideTitle, Terminal: env.Getenv,
			History: tui.OpenHistory(filepath.Join(s.Directory.Home, "prompts.jsonl")),
			Editor:  env.streams().Editor(), Keys: ui.Keys,
			Vim:         s.Settings.General.VimMode,
			OutputLines: ui.OutputLines,
		})
	}
	h.relay(h.front.Tell)
	s.Executor.Ask = s.Asking(h.front.Ask)
	s.Outside.Connect()
	err = h.front.Run(ctx)
	if text := h.all.current().goodbye(); text != "" {
		fmt.Fprintln(env.Stdout, text)
	}
	return err
}

// front is a screen, or lines.
type front interface {
	Observe(agent.Event)
	Tell(text string)
	Typed() []string
	Ask(ctx context.Context, q *approval.Question) (tool.Decision, error)
	Run(ctx context.Context) error
}

// screenHost connects a session with its screen.
type screenHost struct {
	env      Env
	options  *options
	session  *session.Session
	commands *slash.Commands
	front    front
	files    *files.List
	log      io.Writer // of --log; nil: none
	all      *hosts    // the sessions before and after
	closing  sync.Once

	opened model.Model // the demo's; nil: the session opens its own

	branch    statusline.Branch
	continues bool   // a session that was resumed
	unsent    string // the last prompt, if no model could be opened for it; of the goroutine that runs prompts

	mu    sync.Mutex
	talk  *session.Conversation // nil: not yet
	title string                // the first prompt
	tell  func(string)          // nil: there is no front end yet
	early []string              // notices before that
	done  int                   // calls and prompts that have ended
	lines tool.LineCount        // that they changed
}

// note takes a notice, now and after there is a screen.
func (h *screenHost) note(text string) {
	h.mu.Lock()
	tell := h.tell
	if tell == nil {
		h.early = append(h.early, text)
	}
	h.mu.Unlock()
	if tell != nil {
		tell(text)
	}
}

// relay sends further notices to the front end.
func (h *screenHost) relay(tell func(string)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tell = tell
}

// open opens the model, once.
func (h *screenHost) open(ctx context.Context) (model.Model, error) {
	if h.opened != nil {
		return h.opened, nil
	}
	return h.session.Models.Open(ctx)
}

// observe takes an event of the agent.
func (h *screenHost) observe(e agent.Event) {
	switch e := e.(type) { // it may have changed the branch
	case agent.Step:
		if e.Stage == tool.Done {
			h.ended(e.Outcome.Changes)
		}
	case agent.Changed:
		h.ended(e.Changes)
	}
	h.front.Observe(e)
}

// Run carries out what the user typed.
func (h *screenHost) Run(ctx context.Context, typed string) (tui.Reply, error) {
	defer h.ended(tool.Changes{})
	if command, rest, ok := bang(typed); ok && rest == "" {
		return h.runCommand(ctx, command)
	}
	said, isCommand, err := h.commands.Expand(ctx, typed)
	if err != nil {
		return tui.Reply{}, err
	}
	if said.ForPerson() || isCommand && len(said.Parts) == 0 {
		return h.reply(ctx, said)
	}
	if !isCommand {
		if said.Parts, err = h.session.Attachments.PromptParts(ctx, typed, typed); err != nil {
			return tui.Reply{}, err
		}
	}
	h.mu.Lock()
	h.title = cmp.Or(h.title, journal.Title(typed))
	h.mu.Unlock()
	talk, err := h.conversation(ctx)
	if err != nil {
		h.unsent = typed
		return tui.Reply{}, turnError(ctx, err)
	}
	if err = talk.SetGoal(ctx, said.Goal); err != nil {
		return tui.Reply{}, err
	}
	_, err = talk.Turn(ctx, said.Parts...)
	return tui.Reply{}, turnError(ctx, err)
}

// Retry requests the answer to the last prompt again.
func (h *screenHost) Retry(ctx context.Context) error {
	talk := h.current()
	if talk == nil && h.unsent != "" { // it failed before it was sent
		_, err := h.Run(ctx, h.unsent)
		return err
	}
	if talk == nil { // of another session
		return nil
	}
	_, err := talk.Retry(ctx)
	if errors.Is(err, agent.ErrNothingToContinue) {
		return nil
	}
	return turnError(ctx, err)
}

// turnError is the error of a turn as the screen shows it.
func turnError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Canceled
	}
	var failed *model.Error
	if errors.As(err, &failed) && failed.KeyName != "" {
		return &tui.Retryable{Err: &rejectedKey{failed}}
	}
	return err
}

// rejectedKey is the error of a key that the server rejected, with what the user can do in a conversation.
type rejectedKey struct{ cause *model.Error }

func (e *rejectedKey) Error() string {
	return fmt.Sprintf("The API rejected the key (%d from %s).\nIt came from %s. /model selects another model, "+
		"Enter retries.", e.cause.Status, e.cause.Server, e.cause.KeyName)
}

// Unwrap returns the model's error.
func (e *rejectedKey) Unwrap() error { return e.cause }

// conversation is the session's conversation; the model is found for the first prompt.
func (h *screenHost) conversation(ctx context.Context) (*session.Conversation, error) {
	if talk := h.current(); talk != nil {
		return talk, nil
	}
	m, err := h.open(ctx)
	if err != nil {
		return nil, err
	}
	h.session.Outside.WaitLikely(ctx)
	options := session.ConversationOptions{Model: m, Limits: limits(h.options), Observe: h.observe, Typed: h.typed}
	talk := h.session.Converse(context.WithoutCancel(ctx), options)
	h.mu.Lock()
	h.talk = talk
	h.mu.Unlock()
	return talk, nil
}

// typed are the prompts that the user typed since the last turn. Of one with an attachment that can't be read, the
// model gets the text.
func (h *screenHost) typed(ctx context.Context) [][]model.Part {
	var out [][]model.Part
	for _, text := range h.front.Typed() {
		parts, err := h.session.Attachments.PromptParts(ctx, text, text)
		if err != nil {
			h.note(err.Error())
			parts = []model.Part{model.Text(text)}
		}
		out = append(out, parts)
	}
	return out
}

// runCommand runs the user's own command.
func (h *screenHost) runCommand(ctx context.Context, command string) (tui.Reply, error) {
	if command == "" {
		return tui.Reply{}, errors.New("no command after !")
	}
	tail := &commandTail{show: h.front.Observe}
	out, err := h.session.RunAsUser(ctx, command, tail.observe)
	tail.end()
	if err != nil {
		return tui.Reply{}, err
	}
	switch {
	case ctx.Err() != nil:
		err = context.Canceled
	case out.Error != nil:
		err = errors.New(out.Error.Message)
	}
	return tui.Reply{Text: strings.Trim(out.Result.Output, "\n")}, err
}

// Status is what the status line shows.
func (h *screenHost) Status() tui.Status {
	st := tui.Status{
		Mode: h.session.Policy.Mode().String(), Model: h.session.Models.Name(),
		Directory: filepath.Base(h.session.Directory.Path),
		Branch:    h.branch.Name(h.session.Directory.Path), Jobs: len(h.session.Tools.Running()),
	}
	st.Servers, st.Connected, st.Connecting = h.session.Outside.Connected()
	st.Cost, _ = h.session.Models.Cost()
	if h.continues { // until the server counts its tokens
		st.Context = -1
	}
	if talk := h.current(); talk != nil {
		if tokens, window := talk.Context(); window > 0 && (tokens > 0 || !h.continues) {
			st.Context = min(100, 100*tokens/window) // a server can accept more than its window
		}
	}
	return st
}

// Wake has a value when background work has something to report.
func (h *screenHost) Wake() <-chan struct{} {
	if talk := h.current(); talk != nil {
		return talk.Wake()
	}
	return nil
}

// Continue lets the model answer to the reports of background work.
func (h *screenHost) Continue(ctx context.Context) error {
	_, err := h.current().Turn(ctx)
	return turnError(ctx, err)
}

// current is the conversation; nil before the first prompt.
func (h *screenHost) current() *session.Conversation {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.talk
}

// Todos is the model's to-do list.
func (h *screenHost) Todos() todo.List { return h.session.Tools.Todos("") }

// NextMode switches between plan, default and auto-edit. Yolo is never reached by a key.
func (h *screenHost) NextMode() {
	next := map[permission.Mode]permission.Mode{
		permission.Plan: permission.Default, permission.Default: permission.AutoEdit,
	}[h.session.Policy.Mode()]
	if next == "" {
		next = permission.Plan
	}
	if err := h.session.SetMode(next.String()); err != nil {
		h.note(err.Error())
	}
}

// Running are the background commands that end with the session.
func (h *screenHost) Running() []string {
	var out []string
	for _, j := range h.session.Tools.Jobs() {
		if j.Running {
			out = append(out, j.ID+" ("+humanize.Shorten(tool.Visible(j.Command), 60)+")")
		}
	}
	return out
}

// Background moves running commands to the background.
func (h *screenHost) Background() []string { return h.session.Tools.Background() }

// Attach takes an image.
func (h *screenHost) Attach(path string) (label, why string) {
	label, err := h.session.Attachments.AddImage(path)
	switch {
	case err == nil:
		return label, ""
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission):
		return "", "" // some text that looks like a path
	}
	return "", fmt.Sprintf("pasted as text: %s: %v", filepath.Base(path), err)
}

// Complete lists commands, and files with resources of MCP servers.
func (h *screenHost) Complete(ctx context.Context, word string, show func([]tui.Candidate)) {
	if path, ok := strings.CutPrefix(word, "@"); ok {
		first, rest := files.Resources(h.session.Outside.Resources(), path)
		h.files.Complete(ctx, path, func(files []tui.Candidate) { show(slices.Concat(first, files, rest)) })
		return
	}
	show(completeSlash(ctx, h.commands, word))
}

// Aside reports whether a command can run beside a prompt. Before there is a conversation, a prompt is about to start
// one.
func (h *screenHost) Aside(typed string) bool {
	c, ok := h.commands.Find(typed)
	return ok && c.Aside && h.current() != nil
}

// Clipboard attaches the image of the clipboard, or returns its text.
func (h *screenHost) Clipboard(ctx context.Context) (label, text string, err error) {
	image, text, err := console.Clipboard{
		Dir: h.env.Home, Path: h.env.Getenv("PATH"), Roots: h.session.Tools.Roots(),
		Environ: proc.Environ(h.session.Env.ProgramEnviron(), nil),
	}.Read(ctx)
	if image != nil && err == nil {
		label, err = h.session.Attachments.AddImageData(image)
	}
	return label, text, err
}

// homeRelative is a path with ~ for the home directory.
func homeRelative(path, home string) string {
	if rest, ok := strings.CutPrefix(path, home+string(filepath.Separator)); ok && home != "" {
		return "~/" + rest
	}
	return path
}

// pickFirst returns the command that a conversation starts with: -r without an ID opens the list of sessions.
func pickFirst(env Env, o *options) (string, error) {
	r := o.record
	if !r.resume || r.id != "" || r.latest || r.fork || r.off || r.newID != "" || o.firstPrompt != "" {
		return "", nil
	}
	directory, err := workingDirectory(env, o)
	if err != nil {
		return "", err
	}
	if _, err := record.Of(directory).Latest(); err != nil {
		return "", record.SessionError(err)
	}
	o.record.resume = false
	return "/resume", nil
}
