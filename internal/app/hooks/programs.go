package hooks

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/internal/app/settings"
	"github.com/adze-dev/adze/internal/app/trust"
	"github.com/adze-dev/adze/internal/app/undo"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/search"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
	"github.com/adze-dev/adze/tool"
)

// afterChange is a program of tools.afterChange.
type afterChange struct {
	settings.AfterChange
	match     func(path string) bool
	unchanged func() error // nil: the files of the project that it names are as they were
}

// Programs are those of tools.afterChange.
type Programs struct {
	dir   string
	tools *builtin.Set
	all   []afterChange
}

// OpenPrograms prepares the programs of tools.afterChange, for a project in dir.
func OpenPrograms(set []settings.AfterChange, dir string, tools *builtin.Set) *Programs {
	p := &Programs{dir: dir, tools: tools}
	for _, a := range set {
		match, err := search.Globs(a.Glob)
		if err != nil { // the settings were checked
			continue
		}
		p.all = append(p.all, afterChange{a, match, trust.Unchanged(strings.Join(a.Run, " "), dir)})
	}
	return p
}

// Program is a program to run, and the arguments that stand for files.
type Program struct {
	afterChange
	files []string
}

// For returns the programs for the files that a call changed.
func (all *Programs) For(c tool.Changes) []Program {
	if len(all.all) == 0 {
		return nil
	}
	var out []Program
	paths := changedPaths(c, all.tools.Roots())
	for _, a := range all.all {
		r := Program{afterChange: a}
		for _, p := range paths {
			if !p.Gone && a.match(p.Rel) {
				r.files = append(r.files, argument(humanize.UnquotePath(p.Path), all.dir))
			}
		}
		if !slices.Contains(a.Run, settings.Files) {
			r.files = r.files[:min(1, len(r.files))] // it runs once
		}
		if len(r.files) > 0 {
			out = append(out, r)
		}
	}
	return out
}

// argument returns a path as an argument for a program in dir: never one that looks like a flag.
func argument(path, dir string) string {
	rel, ok := names.Rel(path, dir)
	if !ok {
		return path
	}
	if strings.HasPrefix(rel, "-") {
		return "." + string(filepath.Separator) + rel
	}
	return rel
}

// maxFileArguments is how many files a program gets. It runs again for the others: systems limit the size of arguments.
const maxFileArguments = 200

// Run runs programs after a call, one by one, and returns their output for the model.
func (all *Programs) Run(ctx context.Context, programs []Program) (texts []string) {
	for _, p := range programs {
		end := time.Now().Add(p.Timeout)
		for files := range slices.Chunk(p.files, maxFileArguments) {
			if ctx.Err() != nil || !time.Now().Before(end) {
				break
			}
			texts = append(texts, all.run(ctx, p, files, time.Until(end))...)
		}
	}
	return texts
}

func (all *Programs) run(ctx context.Context, p Program, files []string, limit time.Duration) []string {
	var argv []string
	for _, arg := range p.Run {
		if arg == settings.Files {
			argv = append(argv, files...)
			continue
		}
		argv = append(argv, arg)
	}
	if filepath.Base(argv[0]) != argv[0] && !filepath.IsAbs(argv[0]) { // a program of the project
		argv[0] = filepath.Join(all.dir, argv[0])
	}
	output, failure := "", ""
	if err := p.unchanged(); err != nil {
		failure = err.Error()
	} else {
		output, failure = all.tools.RunProgram(ctx, argv, limit)
	}
	output = strings.TrimSpace(output)
	if output == "" && failure == "" {
		return nil
	}
	text := tool.Visible(strings.Join(p.Run, " "))
	if failure != "" {
		text += " failed: " + failure
	}
	return []string{strings.TrimRight(text+"\n"+output, "\n")}
}

// Rewritten returns a text about the files that programs changed after the call; nil: none.
func (all *Programs) Rewritten(f undo.Found) []string {
	var paths []string
	for _, c := range f.Changes {
		paths = append(paths, tool.Visible(names.Short(c.Path, all.tools.Roots()...)))
	}
	if len(paths) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("Changed after the call: %s. Read before you edit again.", humanize.List(paths, 20))}
}
