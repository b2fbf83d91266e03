package cli

import (
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/adze-dev/adze/builtin"
)

// resultSchema is the schema of --json-schema; nil: there is none.
func resultSchema(env Env, o *options) (*builtin.ResultSchema, error) {
	if !o.hasSchema {
		return nil, nil
	}
	text, name := []byte(o.jsonSchema), "--json-schema"
	if file, ok := strings.CutPrefix(o.jsonSchema, "@"); ok {
		path := absolute(env.Dir, []string{file})[0]
		content, err := readSchema(path)
		if err != nil {
			return nil, exitf(exitInput, "%s: %v", name, err)
		}
		text, name = content, name+": "+path
	}
	s, err := builtin.ParseResultSchema(text)
	if err != nil {
		return nil, exitf(exitInput, "%s: %v", name, err)
	}
	return s, nil
}

func readSchema(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		return nil, fmt.Errorf("%s is a directory, expected a file", path)
	}
	if err == nil && info.Size() > 4<<20 {
		return nil, fmt.Errorf("%s has %d bytes, which is too long for a schema", path, info.Size())
	}
	return os.ReadFile(path)
}

// openLog opens the file of --log, readable only by the user; nil: there is none.
func openLog(env Env, o *options) (*os.File, error) {
	if o.log == "" {
		return nil, nil
	}
	path := absolute(env.Dir, []string{o.log})[0]
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, usagef("--log: %v", err)
	}
	info, err := f.Stat()
	if err == nil && info.Mode().IsRegular() && info.Mode().Perm()&^fs.FileMode(0o600) != 0 {
		err = f.Chmod(0o600)
	}
	if err != nil {
		f.Close()
		return nil, usagef("--log: %v", err)
	}
	return f, nil
}
