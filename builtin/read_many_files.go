package builtin

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/tool"
)

//go:embed read_many_files.md
var readManyFilesText string

type readManyFilesArgs struct {
	Paths     []string       `json:"paths" lenient:"true" minItems:"1" description:"Paths, directories or wildcard patterns, e.g. src, main.go, src/**/*.go; absolute or relative to the workspace."`
	Include   []string       `json:"include,omitempty" description:"Additional patterns to include."`
	Exclude   []string       `json:"exclude,omitempty" description:"Patterns to skip."`
	Recursive bool           `json:"recursive,omitempty" default:"true" description:"Include subdirectories."`
	Defaults  bool           `json:"useDefaultExcludes,omitempty" default:"true" description:"Skip node_modules, dist and similar directories."`
	Filter    filterArgument `json:"file_filtering_options,omitzero" description:"Ignore options. AI ignore files (.qwenignore, …) always apply."`
}

// readManyFailure is the documented type of a failed search.
const readManyFailure tool.ErrorType = "read_many_files_search_error"

func readManyFiles(f *files) tool.Tool {
	return tool.Define(tool.Def[readManyFilesArgs]{
		Name: "read_many_files", DisplayName: "ReadManyFiles",
		Summary:     "Read several files by path, directory or wildcard pattern",
		Description: strings.TrimSpace(readManyFilesText), Kind: tool.Read, Budget: -1,
		Prepare: func(ctx context.Context, a readManyFilesArgs) (*tool.Invocation, error) {
			targets, err := f.allTargets(a)
			if err != nil {
				return nil, err
			}
			inv := &tool.Invocation{
				Description: "read " + strings.Join(append(slices.Clone(a.Paths), a.Include...), ", "),
				Access:      accessOf(targets),
				Notes:       a.Filter.notes(),
			}
			w := wish{exclude: a.Exclude, noGit: a.Filter.showsIgnored(), shallow: !a.Recursive, usual: a.Defaults}
			inv.Run = func(ctx context.Context, _ *tool.Live) (tool.Result, error) {
				g, err := f.gather(ctx, targets, w)
				if err != nil {
					return tool.Result{}, searchFailed(ctx, err)
				}
				blocks, err := f.readTogether(ctx, g)
				if err != nil {
					return tool.Result{}, err
				}
				return manyResult(g, blocks), nil
			}
			return inv, nil
		},
	})
}

// allTargets returns the targets of the paths and patterns.
func (f *files) allTargets(a readManyFilesArgs) ([]target, error) {
	var targets []target
	var bad []tool.Violation
	each := func(param string, specs []string) {
		for i, spec := range specs {
			ts, err := f.targets(spec)
			if err != nil {
				bad = append(bad, tool.Violation{Param: fmt.Sprintf("%s[%d]", param, i), Reason: err.Error()})
			}
			targets = append(targets, ts...)
		}
	}
	each("paths", a.Paths)
	each("include", a.Include)
	if len(a.Paths)+len(a.Include) == 0 {
		bad = append(bad, tool.Violation{Param: "paths", Reason: "is required (an array)"})
	}
	if len(bad) > 0 {
		return nil, &tool.ParamError{Violations: bad}
	}
	return targets, nil
}

func accessOf(targets []target) []tool.Access {
	var out []tool.Access
	for _, t := range targets {
		if a := t.access(); !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	return out
}

func searchFailed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return tool.Errorf(readManyFailure, "read many files: %w", err)
}

// manyResult returns the documented form: a block for each file, then the skipped files.
func manyResult(g *gathered, blocks []block) tool.Result {
	skipped := g.skippedText(100)
	if len(blocks) == 0 {
		said := "No files matching the criteria were found or all were skipped."
		if skipped != "" {
			said += "\n" + skipped
		}
		return tool.Result{Content: []tool.Part{tool.Text(said)}, Display: tool.Markdown(said)}
	}
	var out joined
	for _, b := range blocks {
		out.text("--- " + b.path.Abs + " ---\n\n")
		if b.header != "" {
			out.text(b.header + "\n\n")
		}
		out.add(b.parts)
		out.text("\n\n")
	}
	if skipped != "" {
		out.text("--- Skipped ---\n\n" + skipped + "\n")
	}
	out.text("--- End of content ---")
	return tool.Result{Content: out.parts, Display: tool.Markdown(manyDisplay(g, blocks))}
}

func manyDisplay(g *gathered, blocks []block) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Read %s:\n", humanize.Count(len(blocks), "file"))
	for i, bl := range blocks {
		if i == 10 {
			fmt.Fprintf(&b, "- and %d more\n", len(blocks)-10)
			break
		}
		fmt.Fprintf(&b, "- %s\n", tool.Visible(bl.path.Rel))
	}
	if skipped := g.skippedText(5); skipped != "" {
		b.WriteString("\nSkipped:\n" + skipped)
	}
	return b.String()
}

// joined is content in which adjacent texts are joined.
type joined struct{ parts []tool.Part }

func (j *joined) text(s string) { j.add([]tool.Part{tool.Text(s)}) }

func (j *joined) add(parts []tool.Part) {
	for _, p := range parts {
		if t, ok := p.(tool.Text); ok && len(j.parts) > 0 {
			if last, ok := j.parts[len(j.parts)-1].(tool.Text); ok {
				j.parts[len(j.parts)-1] = last + t
				continue
			}
		}
		j.parts = append(j.parts, p)
	}
}
