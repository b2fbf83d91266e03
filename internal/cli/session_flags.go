package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/adze-dev/adze/internal/session"
	"github.com/adze-dev/adze/journal"
)

// recordOptions is what the command line says about recorded sessions.
type recordOptions struct {
	latest  bool   // continue the newest session of the directory
	resume  bool   // continue a session: that of the ID, or one that the user chooses
	id      string // or the start of one
	newID   string
	fork    bool
	off     bool
	all     bool   // of every directory
	format  string // of an export
	setting string // general.chatRecording for this run; "": not given
}

func sessionFlags() []flag {
	return []flag{
		{long: "continue", short: "c", on: cmdPrompt, about: "continue the newest session of this directory",
			set: func(o *options, _ string) error {
				o.record.latest = true
				return nil
			}},
		{long: "resume", short: "r", value: "[ID]", noun: aSession, optional: startsUUID, on: cmdPrompt, about: "continue a session; the first 4 or more characters of its ID are enough.\nWithout an ID, choose from a list",
			set: func(o *options, v string) error {
				o.record.resume, o.record.id = true, v
				return nil
			}},
		{long: "fork-session", on: cmdPrompt, about: "with --continue or --resume: continue a copy of the session",
			set: func(o *options, _ string) error {
				o.record.fork = true
				return nil
			}},
		{long: "session-id", value: "UUID", on: cmdPrompt, about: "ID of the new session",
			set: func(o *options, v string) error {
				o.record.newID = strings.ToLower(v)
				if !journal.ValidID(o.record.newID) {
					return fmt.Errorf("expected a UUID such as 123e4567-e89b-42d3-a456-426614174000, got %q", v)
				}
				return nil
			}},
		{long: "no-session", on: cmdAgent + " mcp-serve", about: "don't record the session; it can't be resumed",
			set: func(o *options, _ string) error {
				o.record.off = true
				return nil
			}},
		{long: "chat-recording", on: cmdAgent, hidden: true, set: setRecording}, // of Qwen Code
		{long: "no-chat-recording", on: cmdAgent, hidden: true, set: func(o *options, _ string) error { return setRecording(o, "false") }},
		{long: "all", on: "session-list undo", about: "list the sessions of all directories", abouts: map[string]string{"undo": "undo all calls of the session"},
			set: func(o *options, _ string) error {
				o.record.all = true
				return nil
			}},
		{long: "format", value: "FORMAT", on: "session-export", about: "format of the export: md (default), html or json",
			among: []string{"md", "html", "json"},
			set: func(o *options, v string) error {
				o.record.format = v
				return nil
			}},
	}
}

func setRecording(o *options, v string) error {
	o.record.setting = cmp.Or(v, "true")
	if o.record.setting != "true" && o.record.setting != "false" {
		return fmt.Errorf("expected true or false, got %q", v)
	}
	return nil
}

// startsUUID reports whether a word is 4 or more characters of a UUID. Others after --resume are the prompt.
func startsUUID(word string) bool {
	const shape = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"
	if len(word) < 4 || len(word) > len(shape) {
		return false
	}
	for i, c := range []byte(strings.ToLower(word)) {
		if dash := shape[i] == '-'; dash != (c == '-') || !dash && !strings.ContainsRune("0123456789abcdef", rune(c)) {
			return false
		}
	}
	return true
}

// recording is how the session of a prompt is recorded.
func recording(ctx context.Context, env Env, o *options) (*session.Recording, error) {
	r := o.record
	continues := r.latest || r.resume
	switch {
	case r.latest && r.resume:
		return nil, usagef("use either --continue or --resume, not both")
	case r.off && (continues || r.fork):
		return nil, usagef("--no-session can't be used with --continue, --resume or --fork-session")
	case r.fork && !continues:
		return nil, usagef("--fork-session needs a session to copy\nAdd --continue or --resume ID.")
	case r.newID != "" && continues && !r.fork:
		return nil, usagef("--session-id can't be used with --continue or --resume\nAdd --fork-session to continue a copy under this ID.")
	}
	out := &session.Recording{ID: r.newID, Fork: r.fork, Off: r.off}
	if !continues {
		return out, nil
	}
	folder, err := workingFolder(env, o)
	if err != nil {
		return nil, err
	}
	switch {
	case r.latest:
		out.Resume, err = folder.Latest()
	case r.id != "":
		out.Resume, err = folder.Sessions().Find(r.id)
	default:
		out.Resume, err = chooseSession(ctx, env, folder)
	}
	var own *exit
	if errors.As(err, &own) {
		return nil, err
	}
	if err != nil {
		return nil, session.SessionError(err)
	}
	return out, nil
}
