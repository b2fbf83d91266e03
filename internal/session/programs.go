package session

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/adze-dev/adze/discover"
	"github.com/adze-dev/adze/internal/workspace/nofollow"
)

// maxNamed is of how many files the content is bound. A directory whose settings name more is not an ordinary one, and its
// settings are bound in any case.
const maxNamed = 200

// namedFiles adds the programs of the directory dir that a setting names, relative to the directory at: as a whole, as a word of
// a command, or after a "=".
func namedFiles(value any, dir, at string, named map[string]bool) {
	switch v := value.(type) {
	case map[string]any:
		if cwd, ok := v["cwd"].(string); ok && !filepath.IsAbs(cwd) {
			at = filepath.Join(at, cwd)
		} else if ok {
			at = cwd
		}
		for _, inner := range v {
			namedFiles(inner, dir, at, named)
		}
	case []any:
		for _, inner := range v {
			namedFiles(inner, dir, at, named)
		}
	case string:
		words, err := discover.Words(v)
		if err != nil {
			words = strings.Fields(v)
		}
		for _, word := range slices.Concat(words, shellWords(v), []string{v}) {
			word = inProject(word, dir)
			_, after, _ := strings.Cut(word, "=")
			for _, name := range []string{word, after} {
				if rel, ok := fileIn(dir, at, name); ok && len(named) < maxNamed {
					named[rel] = true
				}
			}
		}
	}
}

// unchanged returns a check that the files of the directory that a command names are as they are now. Otherwise a model
// that edits such a file would decide what runs, without approval and without the sandbox.
func (f Folder) unchanged(command string) func() error {
	now := func() map[string]string {
		named := map[string]bool{}
		namedFiles(command, f.Path, f.Path, named)
		hashes := map[string]string{}
		for path := range named {
			hashes[path] = contentHash(filepath.Join(f.Path, path))
		}
		return hashes
	}
	then := now()
	return func() error {
		for path, hash := range now() {
			if then[path] != hash {
				return fmt.Errorf("%s changed since the session began. Review it, then start a new session", path)
			}
		}
		return nil
	}
}

// shellWords are the words of a command line for a shell, roughly: operators and quotes end a word.
func shellWords(line string) []string {
	return strings.FieldsFunc(line, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("\"'`;&|()<>", r) })
}

// inProject puts the directory in the place of the variables that name it for hooks.
func inProject(word, dir string) string {
	word = strings.NewReplacer("\"", "", "'", "").Replace(word)
	for _, agent := range []string{"ADZE", "QWEN", "CLAUDE", "GEMINI"} {
		word = strings.ReplaceAll(word, "${"+agent+"_PROJECT_DIR}", dir)
		word = strings.ReplaceAll(word, "$"+agent+"_PROJECT_DIR", dir)
	}
	return word
}

// fileIn reports whether a name, seen from the directory at, is that of a program in dir, and gives it relative to that.
func fileIn(dir, at, name string) (rel string, ok bool) {
	if name == "" || strings.ContainsRune(name, 0) {
		return "", false
	}
	abs := name
	if !filepath.IsAbs(name) {
		abs = filepath.Join(at, name)
	}
	rel, err := filepath.Rel(dir, abs)
	if err != nil || !filepath.IsLocal(rel) {
		return "", false
	}
	return rel, isProgram(abs)
}

// isProgram reports whether a file is one that something can run: by its mode, its first bytes or its ending. What a
// server keeps its data in is named by settings too, and changes every day.
func isProgram(path string) bool {
	f, err := openContent(path)
	if err != nil {
		return false
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Mode()&0o111 != 0 {
		return true
	}
	start := make([]byte, 2)
	if _, err := io.ReadFull(f, start); err == nil && string(start) == "#!" {
		return true
	}
	return slices.Contains(programEndings, strings.ToLower(filepath.Ext(path)))
}

// programEndings are those of files that an interpreter takes without their being executable.
var programEndings = strings.Fields(".sh .bash .zsh .fish .js .mjs .cjs .jsx .ts .mts .cts .tsx .py .pyw .pyz .rb .pl .pm .php " +
	".lua .tcl .r .jl .ex .exs .clj .groovy .kts .scala .jar .war .class .wasm .so .dll .dylib .exe .bat .cmd .ps1 .go .rs .swift .awk .sed .jq .mk")

// contentHash stands for what a file says. All of it is shown: a short one could be met by a file made for it.
func contentHash(path string) string {
	f, err := openContent(path)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return err.Error()
	}
	return "sha256 " + hex.EncodeToString(sum.Sum(nil))
}

// openContent opens what a name leads to, through links, if it is a regular file: a pipe would keep the start waiting.
func openContent(path string) (*os.File, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	return nofollow.Open(real)
}
