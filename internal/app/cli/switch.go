package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/adze-dev/adze/internal/app/files"
	"github.com/adze-dev/adze/internal/app/playback"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/recording"
	"github.com/adze-dev/adze/internal/app/session"
	"github.com/adze-dev/adze/internal/app/slash"
	"github.com/adze-dev/adze/internal/app/tui"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// hosts are the sessions of a conversation, one after another. The last one is open.
type hosts struct {
	mu    sync.Mutex
	last  *screenHost
	ended bool
}

// follow makes a session the last one. It is false if the conversation has ended.
func (l *hosts) follow(h *screenHost) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.ended {
		l.last = h
	}
	return !l.ended
}

// current returns the last session.
func (l *hosts) current() *screenHost {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// goodbye returns the last line of a conversation: how to continue it, its name, and what it used and stopped. "":
// nothing was recorded.
func (h *screenHost) goodbye() string {
	talk := h.current()
	if talk == nil || !h.session.Recorder.Recorded() {
		return ""
	}
	h.mu.Lock()
	title := cmp.Or(h.session.Resumed.Title(), h.title)
	h.mu.Unlock()
	out := "Continue with 'adze -c'"
	if title != "" {
		out += ": " + tool.Visible(title)
	}
	tokens := 0
	for _, m := range h.session.Models.Spent() {
		tokens += m.Usage.Input + m.Usage.Output
	}
	if tokens > 0 {
		out += " · " + humanize.Count(tokens, "token")
	}
	var stopped []string
	for _, j := range h.session.Tools.Jobs() {
		if j.Running {
			stopped = append(stopped, tool.Visible(j.Command))
		}
	}
	if len(stopped) > 0 {
		out += " · stopped: " + humanize.List(stopped, 3)
	}
	return out
}

// end closes the last session.
func (l *hosts) end() {
	l.mu.Lock()
	l.ended = true
	h := l.last
	l.mu.Unlock()
	h.close()
}

// close closes the session, once.
func (h *screenHost) close() {
	h.closing.Do(func() { closeSession(h.env, h.session) })
}

// reply is what a command has for the front end.
func (h *screenHost) reply(ctx context.Context, x slash.Expansion) (tui.Reply, error) {
	if x.Action != "" {
		return h.act(x)
	}
	if x.Resume != "" {
		return h.resume(ctx, x.Resume)
	}
	if x.AddDir != "" {
		return h.addDir(ctx, x.AddDir)
	}
	r := tui.Reply{Text: x.Text(), Markdown: x.Markdown, Copy: x.Copy, Quit: x.Quit, Edit: x.Edit}
	if x.Choice == nil {
		return r, nil
	}
	r.Text, r.Markdown = x.Choice.Text, false // the other text is for front ends that can't ask
	r.Choice = &tui.Choice{Title: x.Choice.Title, Detail: x.Choice.Detail, View: x.Choice.View, At: x.Choice.At}
	for _, o := range x.Choice.Options {
		option := tui.Option{Key: o.Key, Text: o.Text, About: o.About}
		if o.Run != nil {
			option.Run = func(ctx context.Context) (tui.Reply, error) {
				x, err := o.Run(ctx)
				if err != nil {
					return tui.Reply{}, err
				}
				return h.reply(ctx, x)
			}
		}
		r.Choice.Options = append(r.Choice.Options, option)
	}
	return r, nil
}

// resume continues with another session in place of this one. That is opened first: if it can't be, this one continues.
func (h *screenHost) resume(ctx context.Context, id string) (tui.Reply, error) {
	o := *h.options
	o.record = recordOptions{}
	next, err := h.another(o, &recording.Options{Resume: id})
	if err != nil {
		return tui.Reply{}, err
	}
	if err := h.follow(ctx, next); err != nil {
		return tui.Reply{}, err
	}
	h.front.Tell("continues the session: " + next.session.Resumed.Title())
	return tui.Reply{Next: &tui.Next{Host: next, Earlier: earlier(next.session)}}, nil
}

// follow continues with another session, and closes this one.
func (h *screenHost) follow(ctx context.Context, next *screenHost) error {
	if !h.all.follow(next) {
		next.close()
		return context.Canceled
	}
	h.close()
	next.session.Outside.Connect()
	_, _ = next.open(ctx) // for its name; the first prompt reports what is wrong
	return nil
}

// another opens another session for the same front end.
func (h *screenHost) another(o options, record *recording.Options) (*screenHost, error) {
	o.notes, o.firstPrompt = nil, ""
	next := &screenHost{env: h.env, options: &o, front: h.front, log: h.log, all: h.all, tell: h.front.Tell}
	next.env.notify = next.note
	s, err := openSession(next.env, &o, session.Options{Sampling: true, Interactive: true, Record: record, Log: h.log})
	if err != nil {
		return nil, err
	}
	next.session, next.commands, next.files = s, h.commands.For(s), files.New(s.Directory.Path)
	s.Begin = next.conversation
	next.continues = s.Resumed.Title() != ""
	s.Executor.Ask = s.Asking(h.front.Ask)
	return next, nil
}

// addDir opens the session again, with a further directory in its workspace. It must be closed first. A session that
// can't be opened with the directory is opened without it.
func (h *screenHost) addDir(ctx context.Context, dir string) (tui.Reply, error) {
	record := &recording.Options{Off: h.options.record.off}
	if h.session.Recorder.Recorded() {
		record.Resume = h.session.ID
	} else if h.current() != nil {
		return tui.Reply{}, errors.New("/add-dir: this session isn't recorded, so it can't be opened again\nStart " +
			"adze with --add-dir.")
	}
	ctx = context.WithoutCancel(ctx) // there must be a session
	wider := *h.options
	wider.addDirs = append(slices.Clip(wider.addDirs), dir)
	h.close()
	reply := tui.Reply{Text: "Added " + tool.Visible(dir) + " to the workspace."}
	next, err := h.another(wider, record)
	if err != nil {
		reply.Text = "/add-dir: " + tool.Visible(err.Error())
		if next, err = h.another(*h.options, record); err != nil {
			return tui.Reply{Text: reply.Text, Quit: true}, nil
		}
	}
	if err := next.session.Inherit(ctx, h.session); err != nil {
		next.note(err.Error())
	}
	reply.Next = &tui.Next{Host: next, Same: true}
	return reply, h.follow(ctx, next)
}

// earlier is what was said in a session that is resumed.
func earlier(s *session.Session) []tui.Item {
	var out []tui.Item
	calls := map[string]int{} // index of each call
	for _, m := range s.Resumed.Earlier() {
		for _, p := range m.Parts {
			switch p := p.(type) {
			case model.Text:
				kind := tui.ItemAnswer
				if m.Role == model.User {
					kind = tui.ItemPrompt
				}
				if m.News {
					kind = tui.ItemNote
				}
				out = append(out, tui.Item{Kind: kind, Text: string(p)})
			case model.Thought:
				out = append(out, tui.Item{Kind: tui.ItemThinking, Head: "thought", Text: string(p)})
			case model.Call:
				calls[p.ID] = len(out)
				out = append(out, tui.Item{Kind: tui.ItemCall, Status: tool.StatusSuccess, Head: callHead(s, p)})
			case model.Response:
				i, ok := calls[p.ID]
				if !ok {
					continue
				}
				out[i].Text = p.Text()
				switch {
				case p.Denied:
					out[i].Status = tool.StatusDenied
				case p.IsError:
					out[i].Status = tool.StatusError
				}
			}
			if m.Role == model.User && !m.News {
				break // what was attached
			}
		}
	}
	return out
}

// callHead is a tool and the first text among its arguments.
func callHead(s *session.Session, c model.Call) string {
	title := c.Name
	if t, err := s.Executor.Registry.Lookup(c.Name); err == nil {
		title = t.Declaration().Title()
	}
	text := strings.TrimPrefix(playback.FirstText(c.Args), s.Directory.Path+"/")
	return strings.TrimSpace(title + " " + strings.Join(strings.Fields(text), " "))
}

// act does what a command leaves to the front end.
func (h *screenHost) act(x slash.Expansion) (tui.Reply, error) {
	set := h.session.Settings // only this goroutine uses it: prompts run one after the other
	switch x.Action {
	case slash.SetTheme:
		set.UI.Theme = x.Words
		return h.saved(tui.Reply{Theme: x.Words}, "Theme: "+x.Words, "ui.theme", x.Words)
	case slash.SwitchVim:
		on := !set.General.VimMode
		set.General.VimMode = on
		text := map[bool]string{true: "on", false: "off"}[on]
		return h.saved(tui.Reply{Vim: &on}, "Vim keys: "+text, "general.vimMode", strconv.FormatBool(on))
	}
	return tui.Reply{Keys: true}, nil
}

// saved saves a setting of the user that applies from now on.
func (h *screenHost) saved(r tui.Reply, text, key, value string) (tui.Reply, error) {
	c, err := h.session.Directory.SetSetting(project.ForUser, key, value)
	if err != nil {
		return r, fmt.Errorf("%s, but only in this session: %w", text, err)
	}
	r.Text = fmt.Sprintf("%s. Saved to %s.", text, homeRelative(c.Path, h.env.Home))
	return r, nil
}
