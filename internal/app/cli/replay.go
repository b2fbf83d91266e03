package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/adze-dev/adze/internal/app/console"
	"github.com/adze-dev/adze/internal/app/playback"
	"github.com/adze-dev/adze/internal/app/record"
	"github.com/adze-dev/adze/internal/app/tui"
	"github.com/adze-dev/adze/internal/engine/workspace/nofollow"
	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/tool"
)

// replayOptions is what the command line says about a replay.
type replayOptions struct {
	speed     float64 // 0: not given
	cast, svg string
}

// The limits of --speed.
const (
	minSpeed = 0.1
	maxSpeed = 100
)

func replayFlags(o *options) []flag {
	return []flag{
		{long: "speed", value: "N", on: "session-replay", about: "play N times as fast, from 0.1 to 100 (default: 1)",
			to: func(v string) error {
				n, err := strconv.ParseFloat(v, 64)
				if err != nil || !(n >= minSpeed && n <= maxSpeed) {
					return fmt.Errorf("expected a number from %v to %v, got %q", minSpeed, maxSpeed, v)
				}
				o.replay.speed = n
				return nil
			}},
		{long: "cast", value: "FILE", noun: aFile, on: "session-replay",
			about: "write an asciicast (version 2) instead; - is stdout",
			to:    fileOrStdout(&o.replay.cast)},
		{long: "svg", value: "FILE", noun: aFile, on: "session-replay",
			about: "write an animated SVG instead; - is stdout",
			to:    fileOrStdout(&o.replay.svg)},
	}
}

// fileOrStdout is for the name of a file, or - for stdout.
func fileOrStdout(to *string) destination {
	return func(v string) error {
		if v == "" {
			return errors.New("expected the name of a file, or - for stdout, got \"\"")
		}
		*to = v
		return nil
	}
}

// sessionReplay plays a session in the terminal, or into files.
func sessionReplay(ctx context.Context, env Env, o *options, words []string) error {
	in, out, err := replayTerminal(env, o.replay)
	if err != nil {
		return err
	}
	log, all, id, err := foundLog(env, o, words[0])
	if err != nil {
		return err
	}
	defer log.Close()
	if out == nil {
		return writeReplay(ctx, env, o.replay, all.Sessions, id, log)
	}
	directory, err := workingDirectory(env, o)
	if err != nil {
		return err
	}
	set, _, err := directory.Settings()
	if err != nil {
		return err
	}
	_, err = playback.Play(ctx, log.Read(1), all.Store(), playback.Options{
		Speed: o.replay.speed,
		Open: func(p tui.PlayerOptions) (*tui.Player, error) {
			p.In, p.Out, p.Terminal = in, out, env.Getenv
			p.Theme, p.NoColor = set.UI.Theme, env.Getenv("NO_COLOR") != ""
			return tui.OpenPlayer(p)
		},
	})
	return replayError(err)
}

// replayTerminal is the terminal to play in; nil if files are written.
func replayTerminal(env Env, r replayOptions) (in, out *os.File, err error) {
	if r.cast != "" && r.cast == r.svg {
		return nil, nil, usagef("--cast and --svg name the same file: %q", r.cast)
	}
	if r.cast != "" || r.svg != "" {
		return nil, nil, nil
	}
	in, isIn := console.File(env.Stdin)
	out, isOut := console.File(env.Stdout)
	if !isIn || !isOut {
		return nil, nil, usagef("session replay needs a terminal, or a file to write\nAdd --cast FILE or --svg FILE.")
	}
	if env.Getenv("TERM") == "dumb" {
		return nil, nil, usagef("session replay can't redraw a terminal with TERM=dumb\nAdd --cast FILE or --svg " +
			"FILE, or use 'adze session show ID'.")
	}
	return in, out, nil
}

// replayError is an error of a replay.
func replayError(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	return record.SessionError(err)
}

// writeReplay plays a session into files.
func writeReplay(ctx context.Context, env Env, r replayOptions, all journal.Sessions, id string,
	log *journal.File) (err error) {
	info, _ := all.Info(id) // of a broken journal nothing is known
	rec := &playback.Recording{Title: "adze: " + tool.Visible(info.Title), Began: info.Created}
	var files []*replayFile
	defer func() {
		for _, f := range files {
			err = errors.Join(err, f.close(err == nil))
		}
	}()
	for _, x := range []struct {
		flag, name string
		w          *io.Writer
	}{{"--cast", r.cast, &rec.Cast}, {"--svg", r.svg, &rec.SVG}} {
		if x.name == "" {
			continue
		}
		f, err := createReplay(env, x.name)
		if err != nil {
			return fmt.Errorf("%s %s: %w", x.flag, x.name, nofollow.Cause(err))
		}
		files = append(files, f)
		*x.w = f
	}
	notices, err := playback.Play(ctx, log.Read(1), all.Store(), rec.Options(r.speed))
	for _, n := range notices {
		fmt.Fprintln(env.Stderr, "note: "+tool.Visible(n))
	}
	if failed := rec.Close(); failed != nil {
		return fmt.Errorf("session replay: %w", failed)
	}
	return replayError(err)
}

// replayFile is a file that a replay is written to. A regular file is replaced when everything is written.
type replayFile struct {
	io.Writer
	name string   // "": it is not replaced
	temp *os.File // nil: stdout
}

// createReplay opens a file for a replay.
func createReplay(env Env, name string) (*replayFile, error) {
	if name == "-" {
		return &replayFile{Writer: env.Stdout}, nil
	}
	path := absolute(env.Dir, []string{name})[0]
	mode := fs.FileMode(0o600)
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return nil, errors.New("is a directory")
	case err == nil && !info.Mode().IsRegular():
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		return &replayFile{Writer: f, temp: f}, nil
	case err == nil:
		mode = info.Mode().Perm()
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return nil, err
		}
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".adze-replay-")
	if err != nil {
		return nil, err
	}
	if err := f.Chmod(mode); err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	return &replayFile{Writer: f, name: path, temp: f}, nil
}

// close puts the file in its place, if it is complete.
func (f *replayFile) close(complete bool) error {
	if f.temp == nil {
		return nil
	}
	err := f.temp.Close()
	if f.name == "" {
		return err
	}
	if err == nil && complete {
		if err = os.Rename(f.temp.Name(), f.name); err == nil {
			return nil
		}
	}
	return errors.Join(err, os.Remove(f.temp.Name()))
}
