package session

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// variables are those of the environment, and of the user's own .env files where the environment lacks them. A project's
// .env is never read: it could send the user's prompts to another server. Nothing that Adze starts gets them.
type variables struct {
	getenv func(string) string
	files  []dotenv
}

// dotenv is a .env file.
type dotenv struct {
	path   string
	values map[string]string
}

// variables reads the .env files: Adze's own first, then Qwen Code's.
func (env Env) variables(adzeHome string) variables {
	v := variables{getenv: env.Getenv}
	qwen := env.Getenv("QWEN_HOME")
	if !filepath.IsAbs(qwen) && env.Home != "" {
		qwen = filepath.Join(env.Home, ".qwen")
	}
	for _, dir := range []string{adzeHome, qwen} {
		if dir == "" {
			continue
		}
		path := filepath.Join(dir, ".env")
		text, err := os.ReadFile(path)
		switch {
		case err == nil:
			v.files = append(v.files, dotenv{path, readDotenv(string(text))})
		case !errors.Is(err, fs.ErrNotExist):
			env.tell(fmt.Sprintf("warning: %s is ignored: %v", path, err))
		}
	}
	return v
}

// variable is the value of a variable and where it is from.
type variable struct {
	name, value, file string // file is "" for the environment
}

// String names the variable for an error.
func (v variable) String() string {
	if v.file == "" {
		return v.name
	}
	return v.name + " (" + v.file + ")"
}

// first is the first of these variables that is set; without a value if none is.
func (v variables) first(names []string) variable {
	for _, name := range names {
		if value := strings.TrimSpace(v.getenv(name)); value != "" {
			return variable{name, value, ""}
		}
	}
	for _, f := range v.files {
		for _, name := range names {
			if value := f.values[name]; value != "" {
				return variable{name, value, f.path}
			}
		}
	}
	if len(names) == 0 {
		return variable{}
	}
	return variable{name: names[0]}
}

func (v variables) get(name string) string { return v.first([]string{name}).value }

// readDotenv reads lines NAME=VALUE, with "export" or without, with quotes or without. Lines that are none are skipped.
func readDotenv(text string) map[string]string {
	values := map[string]string{}
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") {
			continue
		}
		if rest, ok := strings.CutPrefix(line, "export "); ok {
			line = strings.TrimSpace(rest)
		}
		name, value, ok := strings.Cut(line, "=")
		if name = strings.TrimSpace(name); !ok || name == "" {
			continue
		}
		values[name] = unquoted(strings.TrimSpace(value))
	}
	return values
}

// unquoted is a value without its quotes, or without the comment after it.
func unquoted(value string) string {
	if len(value) > 0 && (value[0] == '"' || value[0] == '\'') {
		if end := strings.IndexByte(value[1:], value[0]); end >= 0 {
			return value[1 : 1+end]
		}
	}
	if i := strings.Index(value, " #"); i >= 0 {
		value = strings.TrimSpace(value[:i])
	}
	return value
}
