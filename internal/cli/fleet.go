package cli

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// fleetName is the program of 'adze fleet'. It has a message queue inside, which would double the size of this one.
const fleetName = "adze-fleet"

// fleetInstall is how to install it from source. Releases have it beside adze.
const fleetInstall = "git clone https://github.com/adze-dev/adze && go -C adze/fleet install ./cmd/adze-fleet"

// runFleet executes adze-fleet: the one beside this program, or the one on PATH.
func runFleet(ctx context.Context, env Env, _ *options, words []string) error {
	if len(words) == 1 && (words[0] == "--help" || words[0] == "-h") { // 'adze fleet help' is the program's own
		c, _, err := choose([]string{"fleet"})
		if err != nil {
			return err
		}
		return printHelp(env.Stdout, c)
	}
	own, _ := os.Executable()
	path, ok := findFleet(own)
	if !ok {
		return exitf(exitError, "%s is not installed\nInstall it beside adze or on PATH: %s", fleetName, fleetInstall)
	}
	environ := env.Environ
	if environ == nil {
		environ = os.Environ()
	}
	err := execute(ctx, env, path, words, environ)
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return exitf(failed.ExitCode(), "")
	}
	return err
}

// findFleet finds adze-fleet. own is the path of this program.
func findFleet(own string) (string, bool) {
	name := fleetName
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if real, err := filepath.EvalSymlinks(own); err == nil {
		for _, dir := range []string{filepath.Dir(own), filepath.Dir(real)} {
			beside := filepath.Join(dir, name)
			if found, err := exec.LookPath(beside); err == nil {
				return found, true
			}
		}
	}
	found, err := exec.LookPath(name)
	return found, err == nil
}
