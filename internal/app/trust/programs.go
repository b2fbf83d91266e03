package trust

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
	"github.com/adze-dev/adze/internal/engine/workspace/names"
	"github.com/adze-dev/adze/internal/engine/workspace/nofollow"
)

// maxNamed is the maximum number of files whose content is bound. A directory whose settings name more is unusual, and
// its settings are bound in any case.
const maxNamed = 200

// AddPrograms adds the programs of the directory dir that a setting names, relative to the directory at: as a whole, as
// a word of a command, or after a "=".
func AddPrograms(value any, dir, at string, named map[string]bool) {
	switch v := value.(type) {
	case map[string]any:
		if cwd, ok := v["cwd"].(string); ok && !filepath.IsAbs(cwd) {
			at = filepath.Join(at, cwd)
		} else if ok {
			at = cwd
		}
		for _, inner := range v {
			AddPrograms(inner, dir, at, named)
		}
	case []any:
		for _, inner := range v {
			AddPrograms(inner, dir, at, named)
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

// Unchanged returns a check that the files of a directory that a command names are unchanged. Otherwise a model that
// edits such a file would decide what runs, without approval and sandbox.
func Unchanged(command, dir string) func() error {
	now := func() map[string]string {
		named := map[string]bool{}
		AddPrograms(command, dir, dir, named)
		hashes := map[string]string{}
		for path := range named {
			hashes[path] = ContentHash(filepath.Join(dir, path))
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

// shellWords returns the approximate words of a shell command line: operators and quotes end a word.
func shellWords(line string) []string {
	return strings.FieldsFunc(line, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune("\"'`;&|()<>", r)
	})
}

// inProject replaces the variables for the project's directory in hooks by the directory.
func inProject(word, dir string) string {
	word = strings.NewReplacer("\"", "", "'", "").Replace(word)
	for _, agent := range []string{"ADZE", "QWEN", "CLAUDE", "GEMINI"} {
		word = strings.ReplaceAll(word, "${"+agent+"_PROJECT_DIR}", dir)
		word = strings.ReplaceAll(word, "$"+agent+"_PROJECT_DIR", dir)
	}
	return word
}

// fileIn reports whether a name, relative to the directory at, is a program in dir, and returns its path relative to
// dir.
func fileIn(dir, at, name string) (rel string, ok bool) {
	if name == "" || strings.ContainsRune(name, 0) {
		return "", false
	}
	abs := name
	if !filepath.IsAbs(name) {
		abs = filepath.Join(at, name)
	}
	rel, ok = names.Rel(abs, dir)
	return rel, ok && isProgram(abs)
}

// isProgram reports whether a file can be run: by its mode, its first bytes or its extension. Settings also name data
// files of servers, which change often.
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

// programEndings are the extensions of files that an interpreter runs even if they aren't executable.
var programEndings = strings.Fields(".sh .bash .zsh .fish .js .mjs .cjs .jsx .ts .mts .cts .tsx .py .pyw .pyz .rb " +
	".pl .pm .php .lua .tcl .r .jl .ex .exs .clj .groovy .kts .scala .jar .war .class .wasm .so .dll .dylib .exe " +
	".bat .cmd .ps1 .go .rs .swift .awk .sed .jq .mk")

// ContentHash returns the hash of a file's content. It isn't shortened, because a collision with a short one could be
// constructed.
func ContentHash(path string) string {
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

// openContent opens the file of a name, through links, if it is a regular file: a pipe would block the start.
func openContent(path string) (*os.File, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	return nofollow.Open(real)
}
