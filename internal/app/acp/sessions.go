package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/adze-dev/adze/discover"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/record"
	"github.com/adze-dev/adze/internal/app/recording"
	"github.com/adze-dev/adze/journal"
)

// runner handles a request. after, if not nil, is called after the response.
type runner func(context.Context) (result any, after func(), err error)

// handlers check the parameters of requests, in order, and return the functions that run concurrently.
var handlers = map[string]func(s *server, params json.RawMessage) (runner, error){
	"initialize":                with((*server).initialize),
	"authenticate":              with((*server).authenticate),
	"session/new":               with((*server).newSession),
	"session/load":              with(func(s *server, p sessionParams) (runner, error) { return s.reopen(p, true) }),
	"session/resume":            with(func(s *server, p sessionParams) (runner, error) { return s.reopen(p, false) }),
	"session/list":              with((*server).listSessions),
	"session/close":             with((*server).closeSession),
	"session/delete":            with((*server).deleteSession),
	"session/prompt":            with((*server).prompt),
	"session/set_mode":          with((*server).setMode),
	"session/set_config_option": with((*server).setOption),
}

// with returns a handler that reads the parameters of a request first.
func with[T any](handle func(*server, T) (runner, error)) func(*server, json.RawMessage) (runner, error) {
	return func(s *server, raw json.RawMessage) (runner, error) {
		var p T
		if len(raw) > 0 {
			if err := json.Unmarshal(raw, &p); err != nil {
				return nil, errorf(codeInvalidParams, "params: %s", discover.Misread(err))
			}
		}
		return handle(s, p)
	}
}

// now returns a runner that does nothing.
func now(result any) (runner, error) {
	return func(context.Context) (any, func(), error) { return result, nil, nil }, nil
}

// setup is the only authentication method: the user configures a model outside the editor.
const setup = "setup"

func (s *server) initialize(p initializeParams) (runner, error) {
	s.mu.Lock()
	s.client, s.begun = p.Capabilities, true
	s.mu.Unlock()
	return now(map[string]any{
		"protocolVersion": protocolVersion,
		"agentCapabilities": map[string]any{
			"loadSession":        true,
			"promptCapabilities": map[string]bool{"image": true, "audio": false, "embeddedContext": true},
			"mcpCapabilities":    map[string]bool{"http": true, "sse": true},
			"sessionCapabilities": map[string]struct{}{
				"list": {}, "delete": {}, "additionalDirectories": {}, "resume": {}, "close": {},
			},
		},
		"agentInfo": map[string]string{"name": "adze", "title": "Adze", "version": s.o.Version},
		"authMethods": []any{map[string]string{
			"id": setup, "name": "Set a model", "description": "Set the variables of a provider, such as " +
				"OPENAI_API_KEY, or start a local model server. 'adze doctor' shows what was found.",
		}},
	})
}

// authenticate checks whether there is a model now. Methods of other agents do nothing.
func (s *server) authenticate(p authenticateParams) (runner, error) {
	if p.MethodID != setup {
		return now(nil)
	}
	return func(ctx context.Context) (any, func(), error) {
		dir, err := os.Getwd()
		if err != nil {
			return nil, nil, err
		}
		one, err := s.o.Open(Start{Dir: project.Canonical(dir), Tell: func(string) {}})
		if err != nil {
			return nil, nil, err
		}
		defer one.Close()
		_, err = one.Models.Open(ctx)
		return nil, nil, s.noModel(ctx, dir, err)
	}, nil
}

// noModel returns the error of a session without a model.
func (s *server) noModel(ctx context.Context, dir string, err error) error {
	if err == nil || ctx.Err() != nil || !errors.Is(err, project.ErrModel) {
		return err
	}
	text := err.Error()
	if s.o.Doctor != nil {
		text += "\n\nadze doctor:\n" + s.o.Doctor(ctx, dir)
	}
	return errorf(codeAuthRequired, "%s", text)
}

// checked checks the parameters of a session that is opened, and returns its servers.
func checked(p sessionParams) (map[string]discover.Server, error) {
	for i, dir := range append([]string{p.CWD}, p.AddDirs...) {
		name := "cwd"
		if i > 0 {
			name = fmt.Sprintf("additionalDirectories[%d]", i-1)
		}
		if !filepath.IsAbs(dir) {
			return nil, errorf(codeInvalidParams, "%s: expected an absolute path, got %q", name, dir)
		}
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return nil, errorf(codeInvalidParams, "%s: not a directory: %s", name, dir)
		}
	}
	servers := map[string]discover.Server{}
	for i, m := range p.Servers {
		server := discover.Server{Command: m.Command, Args: m.Args, Env: values(m.Env), Headers: values(m.Headers)}
		switch {
		case m.Name == "":
			return nil, errorf(codeInvalidParams, "mcpServers[%d].name: expected a name", i)
		case m.Type == "http":
			server.HTTPURL = m.URL
		case m.Type == "sse":
			server.URL = m.URL
		case m.Type != "" && m.Type != "stdio":
			return nil, errorf(codeInvalidParams, "mcpServers[%d].type: expected stdio, http or sse, got %q", i,
				m.Type)
		}
		if (server.Command == "") == (m.URL == "") {
			return nil, errorf(codeInvalidParams, "mcpServers[%d]: expected a command or a url", i)
		}
		servers[m.Name] = server
	}
	return servers, nil
}

func values(list []nameValue) map[string]string {
	out := map[string]string{}
	for _, v := range list {
		out[v.Name] = v.Value
	}
	return out
}

func (s *server) newSession(p sessionParams) (runner, error) {
	servers, err := checked(p)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (any, func(), error) {
		t, err := s.open(ctx, p, servers, &recording.Options{Keep: true})
		if err != nil {
			return nil, nil, err
		}
		ready := make(chan struct{})
		close(ready)
		s.mu.Lock()
		s.sessions[t.id] = &opening{ready: ready, talk: t}
		s.mu.Unlock()
		return t.result(t.id), t.begin, nil
	}, nil
}

// reopen continues a recorded session. With replay, the editor gets its conversation before the response.
func (s *server) reopen(p sessionParams, replay bool) (runner, error) {
	servers, err := checked(p)
	if err != nil {
		return nil, err
	}
	if t := s.current(p.SessionID); t != nil && t.busy() {
		return nil, errorf(codeInvalidRequest, "session %s is open, and a prompt is being answered in it\nCancel it "+
			"with session/cancel first.", p.SessionID)
	}
	o := &opening{ready: make(chan struct{})}
	s.mu.Lock()
	before := s.sessions[p.SessionID]
	s.sessions[p.SessionID] = o
	s.mu.Unlock()
	return func(ctx context.Context) (any, func(), error) {
		defer close(o.ready)
		if before != nil {
			if <-before.ready; before.talk != nil {
				before.talk.close()
			}
		}
		o.talk, o.err = s.continued(ctx, p, servers, replay)
		if o.err != nil {
			s.forget(p.SessionID, o)
			return nil, nil, o.err
		}
		return o.talk.result(""), o.talk.begin, nil
	}, nil
}

// continued opens a recorded session and replays it.
func (s *server) continued(ctx context.Context, p sessionParams, servers map[string]discover.Server,
	replay bool) (*talk, error) {
	directory, err := s.o.Directory(project.Canonical(p.CWD))
	if err != nil {
		return nil, err
	}
	all := record.Of(directory)
	id, err := all.Find(p.SessionID)
	if err != nil || id != p.SessionID {
		return nil, errorf(codeNotFound, "sessionId: no recorded session %q\nSee session/list.", p.SessionID)
	}
	how := &recording.Options{Resume: id}
	if info, err := os.Stat(all.Path(id)); err == nil && info.Size() == 0 { // no prompt was sent
		if err := all.DeleteSession(id); err != nil {
			return nil, err
		}
		how, replay = &recording.Options{ID: id, Keep: true}, false
	}
	t, err := s.open(ctx, p, servers, how)
	if err != nil {
		return nil, err
	}
	if replay {
		if err := t.replay(all.Sessions); err != nil {
			t.close()
			return nil, err
		}
	}
	return t, nil
}

// open opens a session and its model, and starts its servers.
func (s *server) open(ctx context.Context, p sessionParams, servers map[string]discover.Server,
	record *recording.Options) (*talk, error) {
	t := &talk{server: s, listed: make(chan struct{}), known: map[string][]byte{}}
	one, err := s.o.Open(Start{
		Dir: project.Canonical(p.CWD), AddDirs: p.AddDirs, Record: record, Tell: t.note, Write: t.writer(),
	})
	if err != nil {
		return nil, errorf(codeInternal, "%v", err)
	}
	t.attach(one)
	if len(servers) > 0 {
		if err := one.Outside.Add(servers); err != nil {
			t.close()
			return nil, err
		}
	}
	if _, err := one.Models.Open(ctx); err != nil {
		t.close()
		return nil, s.noModel(ctx, p.CWD, err)
	}
	one.Outside.Connect()
	s.work.Go(t.listModels)
	return t, nil
}

// forget removes a session.
func (s *server) forget(id string, o *opening) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions[id] == o {
		delete(s.sessions, id)
	}
}

// named returns the open session of a request. It waits for one that is being opened.
func (s *server) named(ctx context.Context, id string) (*talk, *opening, error) {
	s.mu.Lock()
	o := s.sessions[id]
	s.mu.Unlock()
	if o == nil {
		return nil, nil, errorf(codeNotFound, "sessionId: no open session %q\nOpen one with session/new or "+
			"session/load.", id)
	}
	select {
	case <-o.ready:
		return o.talk, o, o.err
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
}

// pageSize is the number of sessions on a page of session/list.
const pageSize = 100

func (s *server) listSessions(p listParams) (runner, error) {
	from, err := strconv.Atoi(cmp.Or(p.Cursor, "0"))
	if err != nil || from < 0 {
		return nil, errorf(codeInvalidParams, "cursor: expected the nextCursor of an earlier response, got %q",
			p.Cursor)
	}
	if p.CWD != "" && !filepath.IsAbs(p.CWD) {
		return nil, errorf(codeInvalidParams, "cwd: expected an absolute path, got %q", p.CWD)
	}
	return func(context.Context) (any, func(), error) {
		directory, err := s.o.Directory(project.Canonical(p.CWD))
		if err != nil {
			return nil, nil, err
		}
		found, err := record.Of(directory).Recorded(p.CWD == "")
		if err != nil {
			return nil, nil, err
		}
		return page(found, from), nil, nil
	}, nil
}

// page returns one page of the list of sessions. Sessions without a prompt are omitted.
func page(found []journal.Info, from int) map[string]any {
	list := []sessionInfo{}
	next := map[string]any{}
	for i, f := range found {
		if i < from || f.Title == "" && f.Turns == 0 {
			continue
		}
		if len(list) == pageSize {
			next["nextCursor"] = strconv.Itoa(i)
			break
		}
		list = append(list, sessionInfo{
			SessionID: f.ID, CWD: f.CWD, Title: f.Title, UpdatedAt: f.Updated.UTC().Format(time.RFC3339),
		})
	}
	next["sessions"] = list
	return next
}

func (s *server) closeSession(p sessionID) (runner, error) {
	return func(ctx context.Context) (any, func(), error) {
		_, err := s.closed(ctx, p.SessionID)
		return nil, nil, err
	}, nil
}

// closed closes a session and returns it.
func (s *server) closed(ctx context.Context, id string) (*talk, error) {
	t, o, err := s.named(ctx, id)
	if err == nil {
		s.forget(id, o)
		t.close()
	}
	return t, err
}

// deleteSession deletes a recorded session, after closing it if it is open.
func (s *server) deleteSession(p sessionID) (runner, error) {
	return func(ctx context.Context) (any, func(), error) {
		dir := ""
		if t, err := s.closed(ctx, p.SessionID); err == nil {
			dir = t.session.Directory.Path
		}
		directory, err := s.o.Directory(dir)
		if err != nil {
			return nil, nil, err
		}
		all := record.Of(directory)
		if id, err := all.Find(p.SessionID); err != nil || id != p.SessionID {
			return nil, nil, errorf(codeNotFound, "sessionId: no recorded session %q\nSee session/list.", p.SessionID)
		}
		return nil, nil, all.DeleteSession(p.SessionID)
	}, nil
}
