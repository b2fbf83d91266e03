package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/internal/session"
	"github.com/adze-dev/adze/internal/tui"
	"github.com/adze-dev/adze/internal/tui/cell"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// isInteractive reports whether a command line opens a conversation: no prompt, and a terminal on both sides.
func isInteractive(env Env, o *options, words []string) bool {
	_, in := terminalFile(env.Stdin)
	_, out := terminalFile(env.Stdout)
	return in && out && !o.hasPrompt && len(words) == 0 && (o.format == "" || o.format == "text")
}

// runInteractive holds a conversation in the terminal.
func runInteractive(ctx context.Context, env Env, o *options) error {
	in, _ := terminalFile(env.Stdin)
	out, _ := terminalFile(env.Stdout)
	h := &screenHost{env: env, options: o}
	var notices []string // before there is a screen
	h.env.notify = func(note string) { notices = append(notices, note) }
	s, err := openSession(h.env, o, session.Options{Sampling: true})
	if err != nil {
		return err
	}
	defer closeSession(env, s)
	h.session, h.files = s, newFileList(s)
	colors := cell.Full
	if env.Getenv("NO_COLOR") != "" {
		colors = cell.Attributes
	}
	h.screen = tui.New(tui.Options{In: in, Out: out, Host: h, Header: h.header(notices), Lookup: h.lookup, Prompt: o.firstPrompt, Colors: colors, Editor: editorOf(env)})
	h.notify(h.screen.Tell)
	s.Executor.Ask = s.Asking(h.screen.Ask)
	s.Outside.Connect()
	return h.screen.Run(ctx)
}

// screenHost connects a session with its screen.
type screenHost struct {
	env     Env
	options *options
	session *session.Session
	screen  *tui.Screen
	files   *fileList

	talk *session.Conversation // used by one Run at a time

	opening sync.Mutex
	opened  model.Model // nil: not yet

	mu    sync.Mutex
	model string
	used  int // tokens of the last request
	tell  func(string)
}

// notify sends notices to the screen from now on.
func (h *screenHost) notify(tell func(string)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tell = tell
}

// header is what a conversation starts with.
func (h *screenHost) header(notices []string) []cell.Line {
	place := homeRelative(h.session.Folder.Path, h.env.Home)
	if branch := branchOf(h.session.Folder.Path); branch != "" {
		place += " (" + branch + ")"
	}
	lines := []cell.Line{{{Text: "Adze     ", Style: cell.Bold}, {Text: cell.Clean(place)}}}
	for _, n := range notices {
		for i, l := range cell.CleanLines(n) {
			label := "note"
			if i > 0 {
				label = ""
			}
			lines = append(lines, headerRow(label, l))
		}
	}
	return append(lines,
		headerRow("try", "what does this project do?"),
		headerRow("", "why does the last test fail?"),
		headerRow("", "/help"), nil)
}

func headerRow(label, text string) cell.Line {
	return cell.Line{{Text: fmt.Sprintf("%-9s", label), Style: cell.Dim}, {Text: cell.Clean(text)}}
}

// lookup finds the model.
func (h *screenHost) lookup(ctx context.Context) []cell.Line {
	m, err := h.open(ctx)
	if err != nil {
		return []cell.Line{headerRow("model", "none. Set OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY,"), headerRow("", "or start Ollama. Try: adze demo")}
	}
	return []cell.Line{headerRow("model", m.Name())}
}

// open opens the model, once.
func (h *screenHost) open(ctx context.Context) (model.Model, error) {
	h.opening.Lock()
	defer h.opening.Unlock()
	if h.opened != nil {
		return h.opened, nil
	}
	m, err := h.session.Models.Open(ctx)
	if err != nil {
		return nil, err
	}
	h.opened = m
	h.mu.Lock()
	h.model = m.Name()
	h.mu.Unlock()
	return m, nil
}

// Run carries out what the user typed.
func (h *screenHost) Run(ctx context.Context, typed string) (tui.Reply, error) {
	if word := strings.TrimSpace(typed); word == "/quit" || word == "/exit" {
		return tui.Reply{Quit: true}, nil
	}
	if command, rest, ok := bang(typed); ok && rest == "" {
		return h.runCommand(ctx, command)
	}
	said, isCommand, err := h.session.Expand(ctx, typed)
	if err != nil {
		return tui.Reply{}, err
	}
	if said.ForPerson() {
		return tui.Reply{Text: slashText(said)}, nil
	}
	if !isCommand {
		if said.Parts, err = h.session.PromptParts(ctx, typed, typed); err != nil {
			return tui.Reply{}, err
		}
	}
	talk, err := h.conversation(ctx)
	if err != nil {
		return tui.Reply{}, err
	}
	_, err = talk.Run(ctx, said.Parts...)
	if ctx.Err() != nil {
		err = context.Canceled
	}
	return tui.Reply{}, err
}

// conversation is the session's conversation; the model is found for the first prompt.
func (h *screenHost) conversation(ctx context.Context) (*session.Conversation, error) {
	if h.talk != nil {
		return h.talk, nil
	}
	m, err := h.open(ctx)
	if err != nil {
		return nil, err
	}
	h.session.Outside.WaitLikely(ctx)
	h.talk = h.session.Converse(context.WithoutCancel(ctx), session.ConversationOptions{Model: m, Limits: limits(h.options), Observe: h.observe})
	return h.talk, nil
}

func (h *screenHost) observe(e agent.Event) {
	if a, ok := e.(agent.Answered); ok && a.Err == nil {
		h.mu.Lock()
		h.used = a.Usage.Input + a.Usage.Output
		h.mu.Unlock()
	}
	h.screen.Observe(e)
}

// runCommand runs the user's own command.
func (h *screenHost) runCommand(ctx context.Context, command string) (tui.Reply, error) {
	if command == "" {
		return tui.Reply{}, errors.New("no command after !")
	}
	out, err := h.session.RunAsUser(ctx, command)
	if err != nil {
		return tui.Reply{}, err
	}
	text := printedOutput(out.Result.Text())
	if out.Error != nil {
		err = errors.New(out.Error.Message)
	}
	if strings.TrimSpace(text) == "" {
		return tui.Reply{}, err
	}
	return tui.Reply{Text: tool.Fence("", text)}, err
}

// Status is what the status line shows.
func (h *screenHost) Status() tui.Status {
	h.mu.Lock()
	defer h.mu.Unlock()
	return tui.Status{
		Mode: h.session.Policy.Mode().String(), Model: h.model, Directory: filepath.Base(h.session.Folder.Path),
		Branch: branchOf(h.session.Folder.Path), Context: 100 * h.used / 128_000,
	}
}

// NextMode switches between plan, default and auto-edit. Yolo is never reached by a key.
func (h *screenHost) NextMode() {
	next := map[permission.Mode]permission.Mode{permission.Plan: permission.Default, permission.Default: permission.AutoEdit}[h.session.Policy.Mode()]
	if next == "" {
		next = permission.Plan
	}
	h.session.Policy.SetMode(next)
	h.session.Executor.Rejudge()
}

// Background moves running commands to the background.
func (h *screenHost) Background() []string { return h.session.Background() }

// Allow applies a rule.
func (h *screenHost) Allow(r tool.Request, offer string, scope tui.Scope) (string, error) {
	var path string
	var err error
	switch scope {
	case tui.ForProject:
		path, err = h.session.Folder.SaveRule(session.ForProject, offer)
	case tui.ForUser:
		path, err = h.session.Folder.SaveRule(session.ForUser, offer)
	}
	if err == nil {
		h.session.Policy.Remember(r, offer)
	}
	return path, err
}

// Explain is the policy's reading of a command.
func (h *screenHost) Explain(r tool.Request) []string { return h.session.Policy.Understood(r) }

// Complete lists commands and files.
func (h *screenHost) Complete(ctx context.Context, word string) []tui.Candidate {
	if path, ok := strings.CutPrefix(word, "@"); ok {
		return h.files.match(ctx, path)
	}
	var out []tui.Candidate
	for _, c := range h.session.Slashes() {
		if strings.HasPrefix("/"+c.Name, word) {
			out = append(out, tui.Candidate{Text: "/" + c.Name, About: c.About})
		}
	}
	return out
}

// homeRelative is a path with ~ for the home directory.
func homeRelative(path, home string) string {
	if rest, ok := strings.CutPrefix(path, home+string(filepath.Separator)); ok && home != "" {
		return "~/" + rest
	}
	return path
}

// branchOf is the current git branch, read from files: nothing runs.
func branchOf(dir string) string {
	for {
		head, err := os.ReadFile(filepath.Join(dir, ".git", "HEAD"))
		if err == nil {
			name, ok := strings.CutPrefix(strings.TrimSpace(string(head)), "ref: refs/heads/")
			if !ok && len(name) >= 7 {
				return name[:7]
			}
			return name
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}
