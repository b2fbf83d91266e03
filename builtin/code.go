package builtin

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/adze-dev/adze/builtin/command"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/ignore"
	"github.com/adze-dev/adze/internal/engine/lsp"
	"github.com/adze-dev/adze/internal/engine/sorted"
	"github.com/adze-dev/adze/internal/engine/workspace"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
	"github.com/adze-dev/adze/tool"
)

//go:embed code.md
var codeText string

type codeArgs struct {
	Operation string `json:"operation" description:"definition, references, implementations, hover (type and documentation), symbols (of file_path, or by name), callers, rename (needs new_name), diagnostics (errors and warnings of file_path)." enum:"definition,references,implementations,hover,symbols,callers,rename,diagnostics"`
	FilePath  string `json:"file_path,omitempty" description:"File, absolute or relative to the workspace." alias:"path,absolute_path"`
	Line      int    `json:"line,omitempty" description:"Line number (1-based) that contains name." minimum:"1"`
	Name      string `json:"name,omitempty" description:"Identifier, also as other.Name. If the line has it more than once, Name#2 is the second one." alias:"symbol,query"`
	NewName   string `json:"new_name,omitempty" description:"New identifier, for rename."`
}

const codeName = "code"

var toAsk = action{"ask about", tool.ExecutionFailed}

func code(f *files, s *servers) tool.Tool {
	return tool.Define(tool.Def[codeArgs]{
		Name: codeName, DisplayName: "Code", Summary: "Find definitions, references and errors with a language server",
		Description: strings.TrimSpace(codeText), RuleNames: []string{"LSP"}, Kind: tool.Edit, Budget: -1,
		Needs: tool.NeedsSession,
		Prepare: func(ctx context.Context, a codeArgs) (*tool.Invocation, error) {
			if err := a.check(); err != nil {
				return nil, err
			}
			p, err := workspace.Path{Abs: f.ws.Project()}, error(nil)
			inv := &tool.Invocation{Access: reads(below(p.Abs))}
			if a.FilePath != "" {
				p, err = f.at(toAsk, "file_path", a.FilePath, ignore.File)
				inv.Access, a.FilePath = reads(p.Abs), p.Abs
			}
			inv.Description = a.described(p)
			switch {
			case err != nil:
			case a.FilePath != "" && !p.Exists:
				err = f.notFound(toAsk, p)
			case !names.Below(p.Abs, s.root):
				err = toAsk.errorf(tool.ExecutionFailed, p, "it is outside the project. Language servers see only that")
			case a.Operation == "rename":
				err = f.prepareRename(ctx, s, a, p, inv)
			default:
				inv.Run = func(ctx context.Context, _ *tool.Live) (tool.Result, error) {
					text, err := s.answer(ctx, f, a, p)
					return tool.TextResult(text), err
				}
			}
			return inv, err
		},
	})
}

// check reports what the schema can't express.
func (a codeArgs) check() error {
	blank := func(text string) bool { return strings.TrimSpace(text) == "" }
	const required = "is required for %s"
	switch {
	case a.Operation == "symbols" && blank(a.FilePath) && blank(a.Name):
		return tool.BadParam("file_path", "is missing, and so is name: pass a file to list its symbols, or a name to "+
			"search the workspace for")
	case a.Operation == "symbols":
		return nil
	case blank(a.FilePath):
		return tool.BadParam("file_path", required, a.Operation)
	case a.Operation != "diagnostics" && blank(a.Name):
		return tool.BadParam("name", required, a.Operation)
	case a.Operation == "rename" && blank(a.NewName):
		return tool.BadParam("new_name", required, a.Operation)
	}
	return nil
}

func (a codeArgs) described(p workspace.Path) string {
	where, what := p.Rel, command.Label(a.Name)
	if a.Line > 0 {
		where = fmt.Sprintf("%s:%d", where, a.Line)
	}
	switch {
	case a.Operation == "rename":
		return fmt.Sprintf("rename %s to %s (%s)", what, command.Label(a.NewName), where)
	case a.Name == "":
		return a.Operation + " of " + where
	case a.FilePath == "":
		return a.Operation + " of " + what
	}
	return fmt.Sprintf("%s of %s (%s)", a.Operation, what, where)
}

// servers are the language servers of a session.
type servers struct {
	*lsp.Servers      // nil: there are none
	wait         bool // for servers that start: the session has one call
	mask         func(string) string
	root         string
}

func (s *servers) ask(ctx context.Context, a codeArgs) (lsp.Answer, error) {
	return s.Ask(ctx, lsp.Question{
		Operation: lsp.Operation(a.Operation), Path: a.FilePath, Line: a.Line, Name: a.Name, NewName: a.NewName,
		Wait: s.wait,
	})
}

// The limits of an answer.
const (
	maxCodeLines = 200
	maxCodeBytes = 20_000
)

// answer asks a server, and returns the text for the model.
func (s *servers) answer(ctx context.Context, f *files, a codeArgs, p workspace.Path) (string, error) {
	found, err := s.ask(ctx, a)
	if err != nil && a.Operation == "symbols" && errors.Is(err, lsp.ErrStarting) {
		if o, _ := f.original(toAsk, p); o.doc != nil {
			if list := declarations(p.Abs, o.doc.Text); list != "" {
				return fmt.Sprintf("%v, so this list is made without it.\n%s", err, s.mask(list)), nil
			}
		}
	}
	switch {
	case err != nil:
		return s.failed(a, p, err)
	case a.Operation == "diagnostics" && len(found.Diagnostics) == 0:
		return "No errors or warnings in " + p.Rel + ".", nil
	case a.Operation == "diagnostics":
		return s.list(found.Diagnostics, maxCodeLines, maxCodeBytes), nil
	case a.Operation == "hover" && strings.TrimSpace(found.Text) == "":
		return "Nothing is known about " + tool.Visible(a.Name) + ".", nil
	case a.Operation == "hover":
		return tool.Visible(humanize.Shorten(strings.TrimSpace(found.Text), maxCodeBytes)), nil
	}
	return s.places(found), nil
}

// failed returns what the model reads if there is no answer. That a server is starting isn't an error.
func (s *servers) failed(a codeArgs, p workspace.Path, err error) (string, error) {
	if errors.Is(err, lsp.ErrStarting) {
		return fmt.Sprintf("No answer yet: %v. Continue with other work or search for text, and ask again "+
			"later.", err), nil
	}
	return "", tool.Errorf(tool.ExecutionFailed, "%s: %s", a.described(p), tool.Visible(s.mask(err.Error())))
}

// places lists places, grouped by file.
func (s *servers) places(found lsp.Answer) string {
	sorted.By(found.Found, func(a, b lsp.Found) int { return strings.Compare(a.Path, b.Path) })
	var lines []string
	path, files := "", 0
	for _, one := range found.Found {
		if one.Path != path {
			path, files = one.Path, files+1
			lines = append(lines, "", path)
		}
		line := fmt.Sprintf("%d: %s%s", one.Line, strings.Repeat("  ", one.Depth), one.Text)
		if one.In != "" {
			line += "  (in " + one.In + ")"
		}
		lines = append(lines, line)
	}
	head := "Nothing found."
	if files > 0 {
		head = fmt.Sprintf("Found %s in %s.", humanize.Count(len(found.Found), "place"), humanize.Count(files, "file"))
	}
	if found.Hidden > 0 {
		head += fmt.Sprintf(" %s omitted (outside the project, ignored, or not readable for you).",
			humanize.Count(found.Hidden, "place"))
	}
	for _, why := range found.Missing {
		head += " The answer may be incomplete: " + why + "."
	}
	return s.bounded(append([]string{head}, lines...), maxCodeLines, maxCodeBytes)
}

// list returns diagnostics, one in a line.
func (s *servers) list(all []lsp.Diagnostic, most, bytes int) string {
	var lines []string
	for _, d := range all {
		kind := "warning"
		if d.Error {
			kind = "error"
		}
		lines = append(lines, fmt.Sprintf("%s:%d: %s: %s", names.Short(d.Path, s.root), d.Line, kind,
			humanize.Shorten(strings.Join(strings.Fields(d.Message), " "), 400)))
	}
	return s.bounded(lines, most, bytes)
}

// bounded joins as many lines as fit, without secrets.
func (s *servers) bounded(lines []string, most, bytes int) string {
	var b strings.Builder
	for i, line := range lines {
		line = tool.Visible(s.mask(line)) + "\n"
		if i == most || b.Len()+len(line) > bytes {
			fmt.Fprintf(&b, "[%s omitted]", humanize.Count(len(lines)-i, "more line"))
			break
		}
		b.WriteString(line)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
