package search

import (
	"fmt"
	"slices"
	"strings"
)

// fileTypes gives the names of files by language, as patterns for the last element of a path.
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

// otherNames are the ways in which users also write the types.
var otherNames = map[string]string{
	"bash": "sh", "shell": "sh", "zsh": "sh", "c++": "cpp", "cxx": "cpp", "csharp": "cs", "c#": "cs", "golang": "go", "h": "c",
	"javascript": "js", "jsx": "js", "md": "markdown", "python": "py", "rb": "ruby", "rs": "rust", "terraform": "tf", "typescript": "ts",
	"tsx": "ts", "yml": "yaml", "kt": "kotlin", "hs": "haskell", "dockerfile": "docker", "makefile": "make", "htm": "html", "text": "txt",
	"protobuf": "proto", "ps": "powershell", "ex": "elixir", "jupyter": "notebook", "pl": "perl",
}

// Types lists the file types that a search can be narrowed to, sorted.
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
		return nil, fmt.Errorf("file type %q is not known; give a glob such as *.%s instead, or one of %s", name, key, strings.Join(Types(), " "))
	}
	return strings.Fields(globs), nil
}
