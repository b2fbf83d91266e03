// Package homedir finds the user's home directory, even if the environment doesn't have it: in cron jobs, service
// managers, containers and under env -i.
//
//	home, err := homedir.Dir()
//	cmd.Env = homedir.Environ(os.Environ()) // so that ~ means the same to the command
package homedir

import (
	"fmt"
	"os"
	"os/user"
	"runtime"
	"slices"
	"strings"
)

// Dir returns the user's home directory: $HOME (%USERPROFILE% on Windows), or the one in the user database if that is
// unset or empty. Without cgo the database is /etc/passwd.
func Dir() (string, error) { return dir(user.Current) }

func dir(current func() (*user.User, error)) (string, error) {
	if home, err := os.UserHomeDir(); err == nil && home != "" {
		return home, nil
	}
	u, err := current()
	if err == nil && u.HomeDir != "" {
		return u.HomeDir, nil
	}
	return "", fmt.Errorf("no home directory: HOME is not set, and user %d has no entry in /etc/passwd", os.Getuid())
}

// Environ returns the environment with HOME set to the home directory if it is unset or empty. A shell looks HOME up if
// it is unset, but treats an empty one as the root directory.
func Environ(env []string) []string { return environ(env, Dir) }

func environ(env []string, dir func() (string, error)) []string {
	const name = "HOME="
	i := -1
	for j, kv := range env { // the last of several values counts
		if strings.HasPrefix(kv, name) {
			i = j
		}
	}
	if runtime.GOOS == "windows" || i >= 0 && env[i] != name {
		return env
	}
	home, err := dir()
	if err != nil {
		return env
	}
	env = slices.DeleteFunc(slices.Clone(env), func(kv string) bool { return strings.HasPrefix(kv, name) })
	return append(env, name+home)
}
