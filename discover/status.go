package discover

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adze-dev/adze/discover/internal/clean"
	"github.com/adze-dev/adze/discover/internal/oauth"
	"github.com/adze-dev/adze/discover/internal/stdio"
	"github.com/adze-dev/adze/tool"
)

// State is the state of a server.
type State string

// The states.
const (
	Cached   State = "cached"   // known from an earlier run; starts at its first call
	Starting State = "starting" //
	Ready    State = "ready"    //
	Failed   State = "failed"   // see Status.Err; tried again at the next call
	Skipped  State = "skipped"  // it is Adze itself
)

// Status is the status of a server.
type Status struct {
	Alias        string
	Description  string
	Transport    string // stdio, http, sse
	Target       string // the command or the URL
	State        State
	Err          error         // of the last failure; for a server that starts for the first time, its progress
	Tools        []string      // by the names that a model uses
	Prompts      int           //
	Resources    int           //
	Began        time.Time     // of the last start
	Took         time.Duration // duration of the last start
	Starts       int
	Seen         time.Time // when the lists were last read
	Instructions string    // of the server, for the model
	Warnings     []string  // skipped or changed parts of what it offers
}

// List returns the status of all servers.
func (s *Servers) List() []Status {
	var out []Status
	for _, alias := range s.names {
		out = append(out, s.links[alias].status())
	}
	return out
}

// Connected counts the servers and the usable ones, and reports whether some are starting. It is faster than List.
func (s *Servers) Connected() (servers, usable int, starting bool) {
	for _, l := range s.links {
		l.mu.Lock()
		state, _ := l.condition()
		l.mu.Unlock()
		if state != Skipped {
			servers++
		}
		if state == Ready || state == Cached {
			usable++
		}
		starting = starting || state == Starting
	}
	return servers, usable, starting
}

// condition returns the state of a server and the reason; the caller has locked l.
func (l *link) condition() (State, error) {
	switch {
	case errors.Is(l.bad, ErrItself):
		return Skipped, l.bad
	case l.bad != nil:
		return Failed, l.bad
	case l.session != nil:
		return Ready, l.err
	case l.attempt != nil:
		if l.err == nil || l.attempt.why != nil {
			return Starting, l.attempt.progress()
		}
		return Starting, l.err
	case l.err == nil && l.cached:
		return Cached, nil
	}
	return Failed, l.err
}

func (l *link) status() Status {
	offered := l.offered()
	l.mu.Lock()
	defer l.mu.Unlock()
	st := Status{
		Alias: l.alias, Description: l.conf.Description, Transport: string(l.kind), Target: l.conf.Target(),
		Began: l.began, Took: l.took, Starts: l.starts, Warnings: append([]string(nil), l.warnings...),
	}
	st.State, st.Err = l.condition()
	for _, t := range offered {
		st.Tools = append(st.Tools, clean.Name(l.alias, t.Name))
	}
	if m := l.manifest; m != nil {
		st.Prompts, st.Resources, st.Seen, st.Instructions = len(m.Prompts), len(m.Resources), m.Seen, m.Instructions
		st.Warnings = append(st.Warnings, m.Warnings...)
	}
	return st
}

// Logs returns the last log lines of a server in this run. Those of earlier runs are in its log file: see LogFile.
func (s *Servers) Logs(alias string) ([]string, error) {
	l, err := s.link(alias)
	if err != nil {
		return nil, err
	}
	return l.log.Lines(), nil
}

// LogFile reads the last lines of a server's log file in a state directory, also of another process.
func LogFile(state, alias string) ([]string, error) {
	var lines []string
	for _, path := range []string{logPath(state, alias) + ".old", logPath(state, alias)} {
		f, err := os.Open(path)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the log of %s: %w", alias, err)
		}
		scan := bufio.NewScanner(f)
		scan.Buffer(nil, 64<<10)
		for scan.Scan() {
			lines = append(lines, scan.Text())
		}
		f.Close()
	}
	return lines[max(0, len(lines)-stdio.LogLines):], nil
}

// Forget removes what a state directory has about a server that doesn't run: cached lists, logs and its login.
func Forget(ctx context.Context, state, alias string) error {
	log := logPath(state, alias)
	for _, path := range []string{manifestPath(state, alias), slowStartPath(state, alias), log, log + ".old"} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove the files of MCP server %s: %w", alias, err)
		}
	}
	if !oauth.Saved(state) {
		return nil
	}
	_, err := (&oauth.Source{Dir: state, Alias: alias, Write: writeFile}).Forget(ctx)
	return err
}

func logPath(state, alias string) string {
	return filepath.Join(state, "logs", fileName(alias)+".log")
}

// fileName returns a file name for an alias with any characters.
func fileName(alias string) string { return "mcp-" + clean.Name("", alias) }

// Reconnect stops a server if it runs and starts it again.
func (s *Servers) Reconnect(ctx context.Context, alias string) error {
	l, err := s.link(alias)
	if err != nil {
		return err
	}
	l.mu.Lock()
	old := l.session
	l.session, l.failures, l.notBefore = nil, 0, time.Time{}
	l.mu.Unlock()
	if old != nil {
		old.close()
		old.gone(time.Second)
	}
	_, err = l.acquire(ctx)
	return err
}

// Trusted reports whether a tool's origin is a server that is configured with trust: its tools may run without
// approval. The caller must check that the configuration itself is trusted.
func (s *Servers) Trusted(origin string) bool {
	alias, ok := strings.CutPrefix(origin, "mcp:")
	l := s.links[alias]
	return ok && l != nil && l.conf.Trust
}

// eachManifest calls do for every server that has listed what it offers.
func (s *Servers) eachManifest(do func(alias string, m *manifest)) {
	for _, alias := range s.names {
		l := s.links[alias]
		l.mu.Lock()
		if l.manifest != nil {
			do(alias, l.manifest)
		}
		l.mu.Unlock()
	}
}

// Prompts returns the prompts of all servers.
func (s *Servers) Prompts() []Prompt {
	var out []Prompt
	s.eachManifest(func(alias string, m *manifest) {
		for _, p := range m.Prompts {
			p.Server = alias
			out = append(out, p)
		}
	})
	return out
}

// Message is one message of a prompt.
type Message struct {
	Role    string // user or assistant
	Content []tool.Part
}

// Prompt returns the messages of a server's prompt, with its arguments.
func (s *Servers) Prompt(ctx context.Context, alias, name string, args map[string]string) ([]Message, error) {
	running, err := s.running(ctx, alias)
	if err != nil {
		return nil, err
	}
	ctx, limit := withDeadline(ctx, running.link.conf.timeout(s.opt.call()))
	defer limit.end()
	res, err := running.cs.GetPrompt(ctx, &mcp.GetPromptParams{Name: name, Arguments: args})
	if err != nil {
		return nil, fmt.Errorf("get prompt %s from %s: %w", name, alias, err)
	}
	var out []Message
	for _, m := range res.Messages {
		out = append(out, Message{string(m.Role), visible(parts([]mcp.Content{m.Content}))})
	}
	return out, nil
}

// visible removes invisible characters from texts, with a note: the user is about to send them.
func visible(content []tool.Part) []tool.Part {
	hidden := 0
	for i, p := range content {
		if t, ok := p.(tool.Text); ok {
			text, n := clean.Text(string(t), len(t))
			content[i], hidden = tool.Text(text), hidden+n
		}
	}
	if hidden > 0 {
		content = append(content, tool.Text(fmt.Sprintf("[removed %d invisible characters]", hidden)))
	}
	return content
}

// Complete returns the values that a server proposes for an argument of a prompt with this prefix, given the other
// arguments; none if it has no proposals.
func (s *Servers) Complete(ctx context.Context, alias, prompt, argument, begins string,
	given map[string]string) []string {
	running, err := s.running(ctx, alias) // a prompt without its arguments needs the server, too
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, completeWait)
	defer cancel()
	if caps := running.cs.InitializeResult().Capabilities; caps == nil || caps.Completions == nil {
		return nil
	}
	res, err := running.cs.Complete(ctx, &mcp.CompleteParams{
		Ref:      &mcp.CompleteReference{Type: "ref/prompt", Name: prompt},
		Argument: mcp.CompleteParamsArgument{Name: argument, Value: begins},
		Context:  &mcp.CompleteContext{Arguments: given},
	})
	if err != nil {
		return nil
	}
	return res.Completion.Values
}

// completeWait bounds a completion by a running server.
const completeWait = 2 * time.Second

// Resources returns the resources of all servers.
func (s *Servers) Resources() []Resource {
	var out []Resource
	s.eachManifest(func(alias string, m *manifest) {
		for _, r := range m.Resources {
			r.Server = alias
			out = append(out, r)
		}
	})
	return out
}

// Read reads a resource of a server.
func (s *Servers) Read(ctx context.Context, alias, uri string) ([]tool.Part, error) {
	running, err := s.running(ctx, alias)
	if err != nil {
		return nil, err
	}
	ctx, limit := withDeadline(ctx, running.link.conf.timeout(s.opt.call()))
	defer limit.end()
	res, err := running.cs.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		return nil, fmt.Errorf("read resource %s from %s: %w", uri, alias, err)
	}
	var out []tool.Part
	for _, c := range res.Contents {
		out = append(out, resourceParts(c)...)
	}
	return visible(out), nil
}

// running returns the session of a server. It starts the server if necessary.
func (s *Servers) running(ctx context.Context, alias string) (*session, error) {
	l, err := s.link(alias)
	if err != nil {
		return nil, err
	}
	running, err := l.acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("MCP server %s: %w", alias, err)
	}
	return running, nil
}
