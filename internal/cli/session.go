package cli

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/discover"
	"github.com/adze-dev/adze/internal/settings"
	"github.com/adze-dev/adze/internal/spill"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/permission/ondisk"
	"github.com/adze-dev/adze/tool"
)

// session is one run's tools, and what decides about them.
type session struct {
	id       string
	dir      string // the workspace
	home     string // Adze's own folder
	settings *settings.Settings
	world    permission.World
	policy   *permission.Policy
	tools    *builtin.Set
	spill    *spill.Dir
	exec     *tool.Executor
	model    model.Model                                                        // nil where none is needed
	models   func(name string) (model.Model, error)                             // those that sub-agents name
	watch    func(agent.Member, agent.Event)                                    // is told what sub-agents do; nil: nobody
	crew     *agent.Crew                                                        // likewise
	sampling func(context.Context, discover.Sampling) (discover.Sampled, error) // where there will be a model
	outside  *outside                                                           // nil until something asks for it
	shelf    *agent.Shelf                                                       // likewise
	settling sync.Mutex                                                         // of outside: calls may ask at the same time

	*definitions
	remembered func() // a context file has changed
}

// sessionKind says what one process is to the files it finds.
type sessionKind bool

const (
	manyCalls sessionKind = false
	oneCall   sessionKind = true // an existing file counts as read
)

// openSession reads the settings and makes the tools and the policy.
func openSession(env Env, o *options, kind sessionKind) (*session, error) {
	dir, err := workingDir(env, o.cwd)
	if err != nil {
		return nil, err
	}
	home, err := settings.Home(env.Getenv, env.Home)
	if err != nil {
		return nil, err
	}
	s := &session{id: newID(), dir: dir, home: home}
	trusted := false
	s.settings, trusted, err = loadSettings(env, settings.Sources{
		UserHome: env.Home, AdzeHome: home, Project: dir, Getenv: env.Getenv, Flags: settingFlags(o),
	})
	if err != nil {
		return nil, err
	}
	s.definitions = readDefinitions(env, dir, home, trusted)
	tellNotes(env, s.settings, dir)
	s.spill, err = spill.Open(home, s.id, spill.Limits{})
	if err != nil {
		return nil, err
	}
	if s.tools, err = builtin.New(s.toolOptions(env, o, kind)); err != nil {
		return nil, usagef("%v", err)
	}
	s.world = permission.World{
		Roots: s.tools.Roots(), Home: canonical(env.Home), State: canonical(home),
		Spill: filepath.Dir(s.spill.Root()), // of all sessions: a later call may be told of an earlier one's
		Disk:  ondisk.New(s.tools.Roots()),
	}
	s.policy = permission.New(s.world, permission.Mode(s.settings.Tools.ApprovalMode))
	if err := s.setRules(env); err != nil {
		return nil, err
	}
	s.exec = &tool.Executor{
		Registry: tool.NewRegistry(s.tools.Tools()...),
		Policy:   s.policy.Judge,
		Ask:      s.nobody,
		Budget:   outputBudget(s.settings.Tools.OutputThreshold),
		Spill:    s.save,
	}
	return s, nil
}

// toolOptions are what the tools are made of.
func (s *session) toolOptions(env Env, o *options, kind sessionKind) builtin.Options {
	dirs := append([]string{s.dir}, append(absolute(env.Dir, o.addDirs), s.includedDirs(env)...)...)
	if o.within != nil {
		dirs = o.within
	}
	return builtin.Options{
		Dir: dirs[0], AddDirs: dirs[1:], State: s.home, AllRead: kind == oneCall, Sandbox: s.sandbox(env, dirs),
		Helper: env.Helper, Environ: env.Environ, PassEnv: texts(s.settings.Tools.PassEnv), Output: s.create,
		Mode: func() string { return s.policy.Mode().String() }, SetMode: s.setMode, Headless: !env.Terminal,
		FindTools: s.findTools(env), Task: s.delegate, Tasks: backgroundTasks{s}, TaskTypes: s.taskTypes(), Skills: s.skills, WebFetch: s.webFetch(), WebSearch: s.webSearch(env),
		Remembered: func(string) {
			if s.remembered != nil {
				s.remembered()
			}
		},
	}
}

// includedDirs are the further folders that settings name. One that is not there is told, and stops nothing.
func (s *session) includedDirs(env Env) []string {
	var dirs []string
	for _, e := range s.settings.Context.IncludeDirectories {
		path := settled(env, s.dir, e.Text)
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			fmt.Fprintf(env.Stderr, "adze: %s: context.includeDirectories: there is no folder %s\n", e.From, path)
			continue
		}
		dirs = append(dirs, path)
	}
	return dirs
}

// settled is a path of settings, which may begin at the home folder or at the folder worked in.
func settled(env Env, dir, path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		path = filepath.Join(env.Home, rest)
	}
	return absolute(dir, []string{path})[0]
}

func texts(entries []settings.Entry) []string {
	var out []string
	for _, e := range entries {
		out = append(out, e.Text)
	}
	return out
}

func (s *session) close(env Env) {
	s.outside.close()
	if err := errors.Join(s.tools.Close(), s.spill.Close()); err != nil {
		fmt.Fprintf(env.Stderr, "adze: end the session: %v\n", err)
	}
	// What earlier sessions left is cleaned up here, at the end: nobody waits for it at the start.
	_ = spill.Clean(s.home, time.Now(), spill.Age)
}

// nobody refuses every question, and says what would have made it unnecessary.
func (s *session) nobody(_ context.Context, r tool.Request, why tool.Decision) (tool.Decision, error) {
	return tool.Decision{}, errors.New(s.policy.Explain(r, why).String())
}

func (s *session) save(c tool.Call, text string) (tool.Spilled, error) {
	saved, err := s.spill.Save(c.ID, c.Name, text)
	return tool.Spilled{Path: saved.Path, Dropped: saved.Dropped}, err
}

// create opens a file for a command's output.
func (s *session) create(c tool.Call) (io.WriteCloser, string, error) {
	f, err := s.spill.Create(c.ID, c.Name)
	if err != nil {
		return nil, "", err
	}
	return f, f.Saved().Path, nil
}

// outputBudget turns the setting, where nothing and less mean no limit, into the executor's.
func outputBudget(threshold int) int {
	if threshold <= 0 {
		return -1
	}
	return threshold
}

func settingFlags(o *options) []settings.Flag {
	var fs []settings.Flag
	switch {
	case o.yolo:
		fs = append(fs, settings.Flag{Name: "--yolo", Key: "tools.approvalMode", Value: string(permission.Yolo)})
	case o.mode != "":
		fs = append(fs, settings.Flag{Name: "--approval-mode", Key: "tools.approvalMode", Value: o.mode})
	}
	if o.sandbox != "" {
		fs = append(fs, settings.Flag{Name: "--sandbox", Key: "tools.sandbox", Value: o.sandbox})
	}
	if o.backend != "" {
		fs = append(fs, settings.Flag{Name: "--backend", Key: "tools.sandboxBackend", Value: o.backend})
	}
	if o.model != "" {
		fs = append(fs, settings.Flag{Name: "--model", Key: "model.name", Value: o.model})
	}
	return fs
}

// workingDir is the folder to work in, absolute.
func workingDir(env Env, cwd string) (string, error) {
	dir := env.Dir
	if cwd != "" {
		dir = absolute(env.Dir, []string{cwd})[0]
	}
	if dir == "" {
		return "", usagef("the current folder does not exist any more; give one with --cwd")
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", usagef("--cwd: there is no folder %s", dir)
	case err != nil:
		return "", usagef("--cwd: %v", err)
	case !info.IsDir():
		return "", usagef("--cwd: %s is not a folder", dir)
	}
	return canonical(dir), nil
}

func absolute(dir string, paths []string) []string {
	out := make([]string, len(paths))
	for i, p := range paths {
		out[i] = p
		if !filepath.IsAbs(p) {
			out[i] = filepath.Join(dir, p)
		}
	}
	return out
}

// canonical resolves links, as the paths that a policy compares with are resolved. What is not there stays as it is,
// below its nearest folder.
func canonical(path string) string {
	if path == "" {
		return ""
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	parent := filepath.Dir(path)
	if parent == path {
		return path
	}
	return filepath.Join(canonical(parent), filepath.Base(path))
}

func newID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	s := hex.EncodeToString(b[:])
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}
