package models

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/engine/dotenv"
)

// variables are those of the environment, and of the user's own .env files if the environment lacks them. A project's
// .env is never read: it could send the user's prompts to another server. Programs that Adze starts don't get them.
type variables struct {
	getenv func(string) string
	home   string // of the user
	files  []dotenvFile
}

// dotenvFile is a .env file.
type dotenvFile struct {
	path   string
	values map[string]string
}

// readVariables reads the .env files: Adze's own first, then Qwen Code's.
func readVariables(env project.Env, adzeHome string) variables {
	v := variables{getenv: env.Getenv, home: env.Home}
	if env.Isolated {
		return v
	}
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
			v.files = append(v.files, dotenvFile{path, dotenv.Parse(string(text))})
		case !errors.Is(err, fs.ErrNotExist):
			env.Notice(fmt.Sprintf("warning: %s is ignored: %v", path, err))
		}
	}
	return v
}

// variable is the value of a variable and its origin.
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

// first returns the first of these variables that is set; without a value if none is.
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
