// Package homedir finds the user's home directory, also where the environment does not name it: in cron jobs, service
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

// Dir returns the user's home directory: $HOME (%USERPROFILE% on Windows), or what the user database says if that is
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

// Environ returns the environment with HOME set to the home directory if it is unset or empty there. A shell looks HOME
// up by itself if it is unset, but takes an empty one for the root directory.
func Environ(env []string) []string { return environ(env, Dir) }

func environ(env []string, dir func() (string, error)) []string {
	const name = "HOME="
	i := -1
	for j, kv := range env { // of two values the last one counts
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
