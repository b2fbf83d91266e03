package session

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/tool"
)

// addedDirs are the directories of the workspace after the first one, for the model.
func (s *Session) addedDirs() []string {
	var out []string
	for _, root := range s.tools.Roots() {
		if root != s.Folder.Path {
			out = append(out, tool.Visible(root))
		}
	}
	return out
}

// slashAddDir checks a directory that the user adds to the workspace. Tools, policy, sandbox and undo each know the
// directories from their start on, so the front end opens the session again.
func slashAddDir(_ context.Context, s *Session, words string) (Expansion, error) {
	roots := s.tools.Roots()
	if words == "" {
		return Expansion{Print: "Workspace:\n  " + tool.Visible(strings.Join(roots, "\n  ")) + "\nAdd a directory with /add-dir DIR."}, nil
	}
	path := s.Folder.settled(strings.ReplaceAll(words, `\ `, " "))
	if err := CheckAdded(path, s.env.Home); err != nil {
		return Expansion{}, errorf(ErrPrompt, "/add-dir: %v", err)
	}
	path = Canonical(path)
	if slices.ContainsFunc(roots, func(root string) bool { return isBelow(path, root) }) {
		return Expansion{Print: "Already in the workspace: " + tool.Visible(path)}, nil
	}
	if isBelow(path, s.world.State) {
		return Expansion{}, errorf(ErrPrompt, "/add-dir: in Adze's own directory: %s\nAdd another directory.", path)
	}
	if s.denies(path) || s.denies(filepath.Join(path, "file")) {
		return Expansion{}, errorf(ErrPrompt, "/add-dir: a deny rule applies: %s\nSee /permissions.", path)
	}
	if why := s.busy(); why != "" {
		return Expansion{}, errorf(ErrPrompt, "/add-dir: %s, and the session must be opened again\nWait for it, or stop it with /background stop ID.", why)
	}
	return Expansion{AddDir: path}, nil
}

// denies reports whether calls can't read a path.
func (s *Session) denies(path string) bool {
	read := tool.Request{Invocation: tool.Invocation{Access: []tool.Access{{Verb: tool.Reads, Target: path}}}}
	return s.Policy.Judge(read).Verdict == tool.Deny
}

// busy is the background work that the end of the session would stop; "": none.
func (s *Session) busy() string {
	switch {
	case len(s.tools.Running()) > 0:
		return "a background command is running"
	case s.talk != nil && slices.ContainsFunc(s.talk.crew.Jobs(), func(j agent.Job) bool { return j.Running }):
		return "a background subagent is running"
	}
	return ""
}

// Recorded reports whether the session can be resumed: something of it is recorded.
func (s *Session) Recorded() bool {
	if s.recorder == nil {
		return false
	}
	s.recorder.mu.Lock()
	defer s.recorder.mu.Unlock()
	return s.recorder.w != nil
}

// Inherit takes over what the user chose for another session: the mode, the rules and the model.
func (s *Session) Inherit(ctx context.Context, from *Session) error {
	s.Policy.Inherit(from.Policy)
	from.own.mu.Lock()
	own := from.own.rules
	from.own.mu.Unlock()
	for list, rules := range own {
		for _, r := range rules {
			if _, err := s.addRule(list, r.Text); err != nil {
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
