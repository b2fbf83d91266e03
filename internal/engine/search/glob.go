package search

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/engine/ignore"
)

// glob is a compiled pattern for paths relative to the directory of a search, with forward slashes: "*", "?", classes,
// braces, and "**" for any number of directories. A bracket also matches literally, so that "app/[id]/page.tsx" finds
// the file of that name.
type glob struct {
	source string
	ways   []way
	fold   bool
}

// way is one of the patterns that braces expand to.
type way struct {
	pattern string
	name    string // with anyDepth: the pattern for the last element
	suffix  string // with anyDepth: the required suffix of the last element, if that is the whole pattern
	plain   bool   // no wildcard: compared as text
	// anyDepth means that the pattern is "**/" and a pattern for the last element, by far the most common form.
	anyDepth    bool
	directories []string // the leading elements without wildcards, which decide where to search
	depth       int      // number of elements; 0 if "**" makes it unlimited
}

const maxWays = 512

// errPattern reports an invalid pattern for paths.
var errPattern = errors.New("bad pattern for paths")

// newGlob compiles a pattern that must match the whole relative path. With anyDepth a pattern without a slash matches
// the last element anywhere, as in `rg -g` and .gitignore.
func newGlob(source string, anyDepth, fold bool) (*glob, error) {
	g := &glob{source: source, fold: fold}
	pattern := strings.TrimPrefix(source, "./")
	if anyDepth {
		if !strings.Contains(strings.TrimSuffix(pattern, "/"), "/") {
			pattern = "**/" + pattern
		}
		pattern = strings.TrimPrefix(pattern, "/")
	}
	if strings.TrimSpace(pattern) == "" {
		return nil, fmt.Errorf("%w: it is empty; write ** for everything", errPattern)
	}
	if strings.HasSuffix(pattern, "/") {
		pattern += "**"
	}
	ways, err := braces(pattern)
	if err != nil {
		return nil, fmt.Errorf("%w %q: %w", errPattern, source, err)
	}
	ways = append(ways, pattern) // braces may be literal too
	for _, w := range ways {
		g.add(w)
		if strings.ContainsAny(w, "[]") && !strings.Contains(w, `\`) {
			g.add(strings.NewReplacer("[", `\[`, "]", `\]`).Replace(w))
		}
	}
	return g, nil
}

func (g *glob) add(pattern string) {
	for _, w := range g.ways {
		if w.pattern == pattern {
			return
		}
	}
	w := way{pattern: pattern, plain: !strings.ContainsAny(pattern, `*?[\`)}
	segments := strings.Split(pattern, "/")
	w.depth = len(segments)
	for _, s := range segments {
		if s == "**" {
			w.depth = 0
		}
	}
	for _, s := range segments[:len(segments)-1] {
		if strings.ContainsAny(s, `*?[\`) {
			break
		}
		w.directories = append(w.directories, s)
	}
	if len(segments) == 2 && segments[0] == "**" && segments[1] != "**" {
		w.anyDepth, w.name = true, segments[1]
		if rest, ok := strings.CutPrefix(w.name, "*"); ok && !strings.ContainsAny(rest, `*?[\`) {
			w.suffix = rest
		}
	}
	g.ways = append(g.ways, w)
}

// match reports whether the entry name in the directory dir (relative, "" for the top) matches.
func (g *glob) match(dir, name string) bool {
	path := ""
	for i := range g.ways {
		w := &g.ways[i]
		if w.anyDepth {
			if w.suffix != "" {
				if hasSuffix(name, w.suffix, g.fold) {
					return true
				}
			} else if ignore.Glob(w.name, name, g.fold) {
				return true
			}
			continue
		}
		if path == "" {
			path = join(dir, name)
		}
		if w.plain && same(w.pattern, path, g.fold) || !w.plain && ignore.Glob(w.pattern, path, g.fold) {
			return true
		}
	}
	return false
}

// reaches reports whether anything below the directory dir could match.
func (g *glob) reaches(dir string) bool {
	for i := range g.ways {
		if g.ways[i].reaches(dir, g.fold) {
			return true
		}
	}
	return false
}

func (w *way) reaches(dir string, fold bool) bool {
	if w.anyDepth || (len(w.directories) == 0 && w.depth == 0) {
		return true
	}
	for i := 0; dir != ""; i++ {
		var first string
		first, dir, _ = strings.Cut(dir, "/")
		if w.depth > 0 && i+1 >= w.depth {
			return false
		}
		if i < len(w.directories) && !same(w.directories[i], first, fold) {
			return false
		}
	}
	return true
}

func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

func same(a, b string, fold bool) bool { return a == b || fold && strings.EqualFold(a, b) }

func hasSuffix(s, suffix string, fold bool) bool {
	return len(s) >= len(suffix) && same(s[len(s)-len(suffix):], suffix, fold)
}

// braces expands {a,b}, including nested and escaped ones. An unclosed brace is literal.
func braces(pattern string) ([]string, error) {
	start, depth := -1, 0
	cuts := []int{}
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\':
			i++
		case c == '{':
			if depth == 0 {
				start = i
				cuts = append(cuts[:0], i)
			}
			depth++
		case c == ',' && depth == 1:
			cuts = append(cuts, i)
		case c == '}' && depth > 0:
			if depth--; depth > 0 {
				continue
			}
			return spell(pattern, start, append(cuts, i))
		}
	}
	return []string{pattern}, nil
}

// spell expands one pair of braces, whose commas and ends are at cuts.
func spell(pattern string, start int, cuts []int) ([]string, error) {
	var out []string
	for k := range len(cuts) - 1 {
		ways, err := braces(pattern[:start] + pattern[cuts[k]+1:cuts[k+1]] + pattern[cuts[len(cuts)-1]+1:])
		if err != nil {
			return nil, err
		}
		if out = append(out, ways...); len(out) > maxWays {
			return nil, fmt.Errorf("the braces spell out more than %d patterns; give fewer alternatives", maxWays)
		}
	}
	return out, nil
}

// filter selects files of a walk by name.
type filter struct {
	include []*glob
	exclude []*glob
	types   []*glob
	whole   *glob // for the whole path, see FilesRequest
}

func newFilter(globs, types []string) (*filter, error) {
	f := &filter{}
	for _, source := range globs {
		pattern, out := strings.CutPrefix(source, "!")
		g, err := newGlob(pattern, true, false)
		if err != nil {
			return nil, err
		}
		if out {
			f.exclude = append(f.exclude, g)
		} else {
			f.include = append(f.include, g)
		}
	}
	for _, name := range types {
		patterns, err := typeGlobs(name)
		if err != nil {
			return nil, err
		}
		for _, p := range patterns {
			g, err := newGlob(p, true, false)
			if err != nil {
				return nil, err
			}
			f.types = append(f.types, g)
		}
	}
	return f, nil
}

// Globs returns a function that matches relative paths with forward slashes against patterns, as `rg -g` does: without
// a slash a pattern matches names in any directory, and a "!" at its start excludes.
func Globs(patterns ...string) (func(path string) bool, error) {
	f, err := newFilter(patterns, nil)
	if err != nil {
		return nil, err
	}
	return func(path string) bool {
		dir, name := "", path
		if i := strings.LastIndexByte(path, '/'); i >= 0 {
			dir, name = path[:i], path[i+1:]
		}
		return f.file(dir, name)
	}, nil
}

// file reports whether a file is selected.
func (f *filter) file(dir, name string) bool {
	if f.whole != nil && !f.whole.match(dir, name) {
		return false
	}
	return anyMatch(f.include, dir, name) && anyMatch(f.types, dir, name) && !someMatch(f.exclude, dir, name)
}

// mayContain reports whether a directory may contain selected files.
func (f *filter) mayContain(dir, name string) bool {
	if someMatch(f.exclude, dir, name) {
		return false
	}
	path := ""
	if f.whole != nil && !f.whole.ways[0].anyDepth {
		path = join(dir, name)
		if !f.whole.reaches(path) {
			return false
		}
	}
	if len(f.include) == 0 {
		return true
	}
	for _, g := range f.include {
		if len(g.ways) > 0 && g.ways[0].anyDepth {
			return true
		}
		if path == "" {
			path = join(dir, name)
		}
		if g.reaches(path) {
			return true
		}
	}
	return false
}

// anyMatch reports whether any glob matches. It is true for an empty list.
func anyMatch(gs []*glob, dir, name string) bool { return len(gs) == 0 || someMatch(gs, dir, name) }

func someMatch(gs []*glob, dir, name string) bool {
	for _, g := range gs {
		if g.match(dir, name) {
			return true
		}
	}
	return false
}

// fileTypes are the patterns of file names by language, for the last element of a path.
var fileTypes = map[string]string{
	"ada":        "*.adb *.ads",
	"asm":        "*.asm *.s *.S",
	"awk":        "*.awk",
	"bazel":      "*.bazel *.bzl BUILD WORKSPACE",
	"c":          "*.c *.h *.H *.cats",
	"clojure":    "*.clj *.cljs *.cljc *.cljx",
	"cmake":      "*.cmake CMakeLists.txt",
	"config":     "*.cfg *.conf *.config *.ini",
	"cpp":        "*.cpp *.cc *.cxx *.c++ *.C *.hpp *.hh *.hxx *.h *.H *.inl *.ipp",
	"cs":         "*.cs",
	"css":        "*.css *.scss *.sass *.less",
	"csv":        "*.csv *.tsv",
	"dart":       "*.dart",
	"diff":       "*.diff *.patch",
	"docker":     "*Dockerfile* *.dockerfile",
	"elixir":     "*.ex *.exs *.eex *.heex *.leex",
	"elm":        "*.elm",
	"erlang":     "*.erl *.hrl",
	"fish":       "*.fish",
	"fortran":    "*.f *.F *.f77 *.f90 *.F90 *.f95",
	"fsharp":     "*.fs *.fsi *.fsx",
	"go":         "*.go",
	"gradle":     "*.gradle *.gradle.kts",
	"graphql":    "*.graphql *.graphqls *.gql",
	"groovy":     "*.groovy *.gradle",
	"haskell":    "*.hs *.lhs *.cabal",
	"hcl":        "*.tf *.tfvars *.hcl",
	"html":       "*.html *.htm *.xhtml *.ejs",
	"ini":        "*.ini *.cfg *.conf *.toml",
	"java":       "*.java *.jsp *.jspx",
	"js":         "*.js *.jsx *.mjs *.cjs *.vue",
	"json":       "*.json *.jsonl *.json5 *.jsonc",
	"julia":      "*.jl",
	"kotlin":     "*.kt *.kts",
	"less":       "*.less",
	"lisp":       "*.lisp *.lsp *.el *.cl *.jl",
	"lock":       "*.lock package-lock.json go.sum",
	"log":        "*.log",
	"lua":        "*.lua",
	"make":       "Makefile makefile GNUmakefile *.mk *.mak *.make",
	"markdown":   "*.md *.markdown *.mdx *.mdown *.mkd",
	"nix":        "*.nix",
	"notebook":   "*.ipynb",
	"objc":       "*.m *.mm *.h",
	"ocaml":      "*.ml *.mli *.mll *.mly",
	"pascal":     "*.pas *.dpr *.lpr *.pp",
	"perl":       "*.pl *.pm *.PL *.t *.perl",
	"php":        "*.php *.php3 *.php4 *.php5 *.phtml",
	"powershell": "*.ps1 *.psm1 *.psd1",
	"proto":      "*.proto",
	"py":         "*.py *.pyi *.pyw",
	"r":          "*.r *.R *.Rmd *.Rnw",
	"rst":        "*.rst",
	"ruby":       "*.rb *.gemspec *.rake *.rbw Gemfile Rakefile",
	"rust":       "*.rs",
	"sass":       "*.sass *.scss",
	"scala":      "*.scala *.sbt",
	"sh":         "*.sh *.bash *.zsh *.ksh *.fish .bashrc .bash_profile .zshrc .profile",
	"solidity":   "*.sol",
	"sql":        "*.sql *.psql",
	"svelte":     "*.svelte",
	"svg":        "*.svg",
	"swift":      "*.swift",
	"tex":        "*.tex *.ltx *.cls *.sty *.bib *.dtx *.ins",
	"tf":         "*.tf *.tfvars *.tf.json",
	"toml":       "*.toml Cargo.lock",
	"ts":         "*.ts *.tsx *.cts *.mts",
	"txt":        "*.txt",
	"verilog":    "*.v *.vh *.sv *.svh",
	"vim":        "*.vim .vimrc .gvimrc vimrc",
	"vue":        "*.vue",
	"xml":        "*.xml *.xsd *.xsl *.xslt *.dtd *.rng *.xjb *.wsdl *.plist *.svg",
	"yaml":       "*.yaml *.yml",
	"zig":        "*.zig",
}

// otherNames are alternative names of types.
var otherNames = map[string]string{
	"bash": "sh", "shell": "sh", "zsh": "sh", "c++": "cpp", "cxx": "cpp", "csharp": "cs", "c#": "cs", "golang": "go",
	"h":          "c",
	"javascript": "js", "jsx": "js", "md": "markdown", "python": "py", "rb": "ruby", "rs": "rust", "terraform": "tf",
	"typescript": "ts",
	"tsx":        "ts", "yml": "yaml", "kt": "kotlin", "hs": "haskell", "dockerfile": "docker", "makefile": "make",
	"htm": "html", "text": "txt",
	"protobuf": "proto", "ps": "powershell", "ex": "elixir", "jupyter": "notebook", "pl": "perl",
}

// Types returns the file types that can be selected, sorted.
func Types() []string {
	names := make([]string, 0, len(fileTypes))
	for name := range fileTypes {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// typeGlobs finds the patterns of a type.
func typeGlobs(name string) ([]string, error) {
	key := strings.ToLower(strings.TrimPrefix(name, "."))
	if other, ok := otherNames[key]; ok {
		key = other
	}
	globs, ok := fileTypes[key]
	if !ok {
		return nil, fmt.Errorf("file type %q is not known; give a glob such as *.%s instead, or one of %s", name, key,
			strings.Join(Types(), " "))
	}
	return strings.Fields(globs), nil
}
