package builtin

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	contextfiles "github.com/adze-dev/adze/internal/engine/context"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/ignore"
	"github.com/adze-dev/adze/internal/engine/text"
	"github.com/adze-dev/adze/internal/engine/workspace"
	"github.com/adze-dev/adze/tool"
)

//go:embed save_memory.md
var saveMemoryText string

type saveMemoryArgs struct {
	Fact  string `json:"fact" description:"The fact, as one self-contained sentence."`
	Scope string `json:"scope,omitempty" enum:"global,project" default:"global" description:"global: applies to all projects; project: only to this one."`
}

// memoryFailure is the documented type of its failures.
const memoryFailure tool.ErrorType = "memory_tool_execution_error"

var toRemember = action{"remember in", memoryFailure}

const (
	maxFact   = 2000    // characters
	maxMemory = 1 << 20 // bytes of a file that facts are added to
)

// saveMemory adds a fact to a context file. remembered, if not nil, is called with the file, to load the fact at once.
func saveMemory(f *files, remembered func(path string)) tool.Tool {
	return tool.Define(tool.Def[saveMemoryArgs]{
		Name: "save_memory", DisplayName: "SaveMemory",
		Summary:     "Save a fact for future sessions",
		Description: strings.TrimSpace(saveMemoryText), RuleNames: []string{"MemoryTool"}, Kind: tool.Edit,
		Needs: tool.NeedsSession,
		Prepare: func(ctx context.Context, a saveMemoryArgs) (*tool.Invocation, error) {
			fact := contextfiles.Fact(a.Fact)
			if n := len([]rune(fact)); fact == "" || n > maxFact {
				return nil, tool.BadParam("fact", "must be one sentence of 1 to %d characters, got %d", maxFact, n)
			}
			p, err := f.memoryFile(a.Scope)
			inv := &tool.Invocation{Description: fmt.Sprintf("remember in %s: %s", p.Rel, fact), Access: writes(p.Abs)}
			if err != nil {
				return inv, err
			}
			c, added, err := f.addFact(p, fact)
			if err != nil {
				return inv, err
			}
			if !added {
				if !f.secrets.is(p) {
					inv.Access = reads(p.Abs)
				}
				inv.Run = func(context.Context, *tool.Live) (tool.Result, error) {
					return tool.TextResult(fmt.Sprintf("Already saved in %s. Nothing was changed.", p.Abs)), nil
				}
				return inv, nil
			}
			inv.Confirm = fileDiff([]*change{c})
			inv.Run = func(ctx context.Context, _ *tool.Live) (tool.Result, error) {
				notes, c, err := f.commitFact(ctx, c, fact)
				if err != nil {
					return tool.Result{}, err
				}
				f.seen.RecordEdit(p.Abs, c.was.hash, c.newHash(), text.Lines(c.now.Text))
				if remembered != nil {
					remembered(p.Abs)
				}
				said := []tool.Part{tool.Text(savedText(fact, c) + notes)}
				return tool.Result{Content: said, Display: fileDiff([]*change{c})}, nil
			}
			return inv, nil
		},
	})
}

// memoryFile returns the file for facts of a scope.
func (f *files) memoryFile(scope string) (workspace.Path, error) {
	if scope == "project" {
		root := f.ws.Project()
		name := contextfiles.MemoryFile(f.contextNames, func(name string) bool {
			_, err := os.Lstat(filepath.Join(root, name))
			return err == nil
		})
		return f.at(toRemember, "scope", filepath.Join(root, name), ignore.File)
	}
	if f.state == "" {
		p := workspace.Path{Abs: "AGENTS.md", Rel: "AGENTS.md"}
		return p, toRemember.errorf(memoryFailure, p, "this session has no user directory; use scope project")
	}
	return f.at(toRemember, "scope", filepath.Join(f.state,
		contextfiles.MemoryFile(nil, func(string) bool { return false })), ignore.File)
}

// commitFact writes a change that adds a fact. If another session has added a fact in the meantime, the approved line
// is added below it.
func (f *files) commitFact(ctx context.Context, c *change, fact string) (string, *change, error) {
	for range 50 {
		notes, err := f.commit(ctx, c)
		if tool.TypeOf(err) != changedSinceRead {
			return strings.Join(notes, ""), c, err
		}
		fresh, added, failed := f.addFact(c.was.path, fact)
		switch {
		case failed != nil:
			return "", c, failed
		case !added: // by another session
			return "", c, nil
		}
		c = fresh
	}
	return "", c, c.was.vanished(c.action)
}

// addFact returns the change that adds a fact to a file; false if the file has the fact.
func (f *files) addFact(p workspace.Path, fact string) (*change, bool, error) {
	a := toRemember
	if info, err := p.Stat(); err == nil && info.Mode().IsRegular() {
		switch {
		case info.Size() > maxMemory:
			return nil, false, a.errorf(fileTooLarge, p, "it is %s, over the limit of %s. Shorten it first, or ask "+
				"the user to.",
				humanize.Bytes(info.Size()), humanize.Bytes(maxMemory))
		case info.Mode().Perm()&0o222 == 0: // it is meant to stay unchanged, and a rename would ignore that
			return nil, false, a.errorf(tool.PermissionDenied, p, "it is read-only (%s). Tell the user, who can make "+
				"it writable.", info.Mode().Perm())
		}
	}
	o, err := f.original(a, p)
	if err != nil {
		return nil, false, err
	}
	if o.doc == nil {
		return nil, false, a.errorf(memoryFailure, p, "it is a binary file")
	}
	now, added := contextfiles.AddFact(o.doc.Text, fact)
	if !added {
		return nil, false, nil
	}
	doc, err := o.doc.Rewrite(now)
	if err != nil {
		return nil, false, a.failure(p, err)
	}
	return o.with(a, doc), true, nil
}

// savedText reports where a fact was saved.
func savedText(fact string, c *change) string {
	text := fmt.Sprintf("Saved to %s: %q", c.was.path.Abs, fact)
	if size := len(c.now.Text); size > contextfiles.LoadedWhole {
		text += fmt.Sprintf("\nThe file is %s; only the start and end are loaded. Consider shortening it.",
			humanize.Bytes(int64(size)))
	}
	return text
}
