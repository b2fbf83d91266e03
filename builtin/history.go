package builtin

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/engine/search"
	"github.com/adze-dev/adze/internal/engine/text"
	"github.com/adze-dev/adze/tool"
)

// HistoryPath is the path by which an agent reads its own conversation, including what compactions removed.
const HistoryPath = "session:history"

// sessionPaths begin paths that aren't in a file system.
const sessionPaths = "session:"

// Past tells the model where its whole conversation is; "" if it can't read it.
func (s *Set) Past() string {
	names := slices.DeleteFunc([]string{"read_file", "grep_search"},
		func(name string) bool { return !s.files.offer.has(name) })
	if s.files.history == nil || len(names) == 0 {
		return ""
	}
	return "Everything before it, including all prompts, is still in " + HistoryPath + ": pass that as the path to " +
		strings.Join(names, " or ") + " before you ask the user for something that they already said."
}

// isHistory reports whether a path is HistoryPath. It returns an error for a similar path, which names nothing.
func (f *files) isHistory(param, path string) (bool, error) {
	switch {
	case !strings.HasPrefix(path, sessionPaths):
		return false, nil
	case path != HistoryPath:
		return false, tool.BadParam(param, "unknown path %q: only %s exists", path, HistoryPath)
	case f.history == nil:
		return false, tool.BadParam(param, "%s is not available: this session isn't recorded", HistoryPath)
	}
	return true, nil
}

// ofHistory returns a call that accesses nothing but the agent's own conversation.
func (f *files) ofHistory(about string, run func(past string) (tool.Result, error)) *tool.Invocation {
	inv := &tool.Invocation{Description: about + " " + HistoryPath, Access: []tool.Access{tool.Nothing}}
	inv.Run = func(ctx context.Context, l *tool.Live) (tool.Result, error) {
		if err := ctx.Err(); err != nil {
			return tool.Result{}, err
		}
		past, err := f.history(l.Call.By)
		if err != nil {
			return tool.Result{}, tool.Errorf(readContentFailure, "read %s: %w", HistoryPath, err)
		}
		return run(past)
	}
	return inv
}

func (f *files) readHistory(a readFileArgs) *tool.Invocation {
	return f.ofHistory("read", func(past string) (tool.Result, error) {
		x, err := excerptOf([]byte(past), window{first: max(a.Offset, a.Offset+1), lines: a.Limit})
		if errors.Is(err, text.ErrBinary) {
			return tool.Result{}, tool.Errorf(readContentFailure, "read %s: it has binary data", HistoryPath)
		}
		if err != nil {
			return tool.Result{}, tool.Errorf(tool.InvalidParams, "read %s: %w", HistoryPath, err)
		}
		return x.result(""), nil
	})
}

func (f *files) grepHistory(a grepSearchArgs, p *search.Pattern) *tool.Invocation {
	return f.ofHistory("grep", func(past string) (tool.Result, error) {
		res, err := search.GrepText(HistoryPath, past, a.request(p, search.Scope{}))
		if err != nil {
			return tool.Result{}, tool.Errorf("grep_execution_error", "search in %s: %w", HistoryPath, err)
		}
		t := &grepText{args: a, where: searchPlace{name: HistoryPath}, res: res, notes: p.Notes}
		return tool.Result{Content: []tool.Part{tool.Text(t.write())}, Display: tool.Markdown(t.found())}, nil
	})
}
