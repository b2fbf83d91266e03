package builtin

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/adze-dev/adze/builtin/command"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/ignore"
	"github.com/adze-dev/adze/internal/engine/lsp"
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
	Name      string `json:"name,omitempty" description:"Identifier. If the line has it more than once, a longer part of the line that ends with it, e.g. other.Name." alias:"symbol,query"`
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
			p := workspace.Path{Abs: f.ws.Project()}
			inv := &tool.Invocation{
				Description: a.Operation + " of " + command.Label(a.Name), Access: reads(below(p.Abs)),
			}
			if a.FilePath != "" {
				var err error
				if !filepath.IsAbs(a.FilePath) {
					a.FilePath = filepath.Join(p.Abs, a.FilePath)
				}
				p, err = f.at(toAsk, "file_path", a.FilePath, ignore.File)
				inv.Access, inv.Description = reads(p.Abs), a.described(p)
				if err == nil {
					err = s.answers(f, p)
				}
				if err != nil {
					return inv, err
				}
			} else if s.Servers == nil {
				return inv, errNoServers
			}
			if a.Operation == "rename" {
				return f.prepareRename(ctx, s, a, p, inv)
			}
			inv.Run = func(ctx context.Context, _ *tool.Live) (tool.Result, error) {
				text, err := s.answer(ctx, f, a, p)
				return tool.TextResult(text), err
			}
			return inv, nil
		},
	})
}

// check reports what the schema can't express.
func (a codeArgs) check() error {
	need := func(param, value string) error {
		if strings.TrimSpace(value) == "" {
			return tool.BadParam(param, "is required for %s", a.Operation)
		}
		return nil
	}
	switch a.Operation {
	case "symbols":
		if a.FilePath == "" && strings.TrimSpace(a.Name) == "" {
			return tool.BadParam("file_path", "is missing, and so is name: pass a file to list its symbols, or a name "+
				"to search the workspace for")
		}
		return nil
	case "diagnostics":
		return need("file_path", a.FilePath)
	case "rename":
		if err := need("new_name", a.NewName); err != nil {
			return err
		}
	}
	return errors.Join(need("file_path", a.FilePath), need("name", a.Name))
}

func (a codeArgs) described(p workspace.Path) string {
	where := p.Rel
	if a.Line > 0 {
		where = fmt.Sprintf("%s:%d", where, a.Line)
	}
	switch {
	case a.Operation == "rename":
		return fmt.Sprintf("rename %s to %s (%s)", command.Label(a.Name), command.Label(a.NewName), where)
	case a.Name == "":
		return a.Operation + " of " + where
	}
	return fmt.Sprintf("%s of %s (%s)", a.Operation, command.Label(a.Name), where)
}

// servers are the language servers of a session.
type servers struct {
	*lsp.Servers      // nil: there are none
	wait         bool // for servers that start: the session has one call
	mask         func(string) string
	root         string
}

var errNoServers = tool.Errorf(tool.ExecutionFailed, "no language server is installed for this project; search for "+
	"text instead")

// answers reports why no server answers questions about a file.
func (s *servers) answers(f *files, p workspace.Path) error {
	switch {
	case !p.Exists:
		return f.notFound(toAsk, p)
	case s.Servers == nil:
		return errNoServers
	case !p.Inside() || !names.Below(p.Abs, s.root):
		return toAsk.errorf(tool.ExecutionFailed, p, "it is outside the project. Language servers see only that")
	case !s.For(p.Abs):
		return toAsk.errorf(tool.ExecutionFailed, p, "no language server is installed for such files; search for text "+
			"instead")
	}
	return nil
}

// The limits of an answer.
const (
	maxCodeLines = 200
	maxCodeBytes = 20_000
)

// answer asks a server, and returns the text for the model.
func (s *servers) answer(ctx context.Context, f *files, a codeArgs, p workspace.Path) (string, error) {
	var found lsp.Answer
	var starting []string
	var err error
	switch {
	case a.Operation == "diagnostics":
		list, err := s.Diagnostics(ctx, p.Abs, s.wait)
		if err != nil {
			return s.failed(a, p, err)
		}
		if len(list) == 0 {
			return "No errors or warnings in " + p.Rel + ".", nil
		}
		return s.list(list, maxCodeLines, maxCodeBytes), nil
	case a.Operation == "symbols" && a.FilePath == "":
		found, starting, err = s.FindSymbols(ctx, a.Name, s.wait)
	case a.Operation == "symbols":
		found, err = s.Symbols(ctx, p.Abs, s.wait)
		var late *lsp.StartingError
		if o, _ := f.original(toAsk, p); errors.As(err, &late) && o.doc != nil {
			if list := declarations(p.Abs, o.doc.Text); list != "" {
				return fmt.Sprintf("%v, so this list is made without it.\n%s", late, s.mask(list)), nil
			}
		}
	default:
		found, err = s.Ask(ctx, lsp.Operation(a.Operation), lsp.Place{Path: p.Abs, Line: a.Line, Name: a.Name}, s.wait)
	}
	if err != nil {
		return s.failed(a, p, err)
	}
	if a.Operation == "hover" {
		if text := strings.TrimSpace(found.Text); text != "" {
			return tool.Visible(humanize.Shorten(text, maxCodeBytes)), nil
		}
		return "Nothing is known about " + tool.Visible(a.Name) + ".", nil
	}
	text := s.places(a, found)
	for _, one := range starting {
		text += "\nThe answer may be incomplete: " + one + "."
	}
	return text, nil
}

// failed returns what the model reads if there is no answer. That a server is starting isn't an error.
func (s *servers) failed(a codeArgs, p workspace.Path, err error) (string, error) {
	var starting *lsp.StartingError
	switch {
	case errors.As(err, &starting):
		return fmt.Sprintf("No answer yet: %v. Continue with other work or search for text, and ask again later.",
			starting), nil
	case errors.Is(err, fs.ErrNotExist):
		return "", toAsk.failure(p, err)
	}
	return "", tool.Errorf(tool.ExecutionFailed, "%s: %s", a.described(p), tool.Visible(s.mask(err.Error())))
}

// places lists places, grouped by file.
func (s *servers) places(a codeArgs, found lsp.Answer) string {
	var b strings.Builder
	files := map[string]bool{}
	for _, one := range found.Found {
		files[one.Path] = true
	}
	if len(found.Found) == 0 {
		b.WriteString("Nothing found.")
	} else {
		fmt.Fprintf(&b, "Found %s in %s.", humanize.Count(len(found.Found), "place"),
			humanize.Count(len(files), "file"))
	}
	if found.Hidden > 0 {
		fmt.Fprintf(&b, " %s omitted (outside the project, ignored, or not readable for you).",
			humanize.Count(found.Hidden, "place"))
	}
	order := make(map[string][]lsp.Found)
	var paths []string
	for _, one := range found.Found {
		if order[one.Path] == nil {
			paths = append(paths, one.Path)
		}
		order[one.Path] = append(order[one.Path], one)
	}
	n := 0
	for _, path := range paths {
		fmt.Fprintf(&b, "\n\n%s", tool.Visible(path))
		for _, one := range order[path] {
			if n++; n > maxCodeLines || b.Len() > maxCodeBytes {
				fmt.Fprintf(&b, "\n[%s omitted]", humanize.Count(len(found.Found)-n+1, "more place"))
				return b.String()
			}
			label := one.Label
			if label != "" {
				label = "  (" + label + ")"
			}
			line := fmt.Sprintf("%d: %s%s%s", one.Line, strings.Repeat("  ", one.Depth), one.Text, label)
			b.WriteString("\n" + tool.Visible(s.mask(strings.ReplaceAll(line, "\n", " "))))
		}
	}
	return b.String()
}

// list returns diagnostics, one in a line.
func (s *servers) list(all []lsp.Diagnostic, lines, bytes int) string {
	var b strings.Builder
	for i, d := range all {
		kind := "warning"
		if d.Error {
			kind = "error"
		}
		message := strings.Join(strings.Fields(d.Message), " ")
		line := tool.Visible(s.mask(fmt.Sprintf("%s:%d: %s: %s", names.Short(d.Path, s.root), d.Line, kind,
			humanize.Shorten(message, 400))))
		if i == lines || b.Len()+len(line) > bytes {
			fmt.Fprintf(&b, "[%d more omitted]\n", len(all)-i)
			break
		}
		b.WriteString(line + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}
