package discover

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze/internal/dev/waittest"
	"github.com/adze-dev/adze/tool"
)

// longer runs a check of a time limit, and runs it again with twice the limit as long as it returns an error: on a slow
// machine a short limit can pass before a process has started.
func longer(t testing.TB, check func(limit time.Duration) error) {
	t.Helper()
	limit := 250 * time.Millisecond
	for err := check(limit); err != nil; err = check(limit) {
		if limit *= 2; limit > 2*time.Minute {
			t.Fatal(err)
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// gated returns a server that installs something before it answers, until the gate file exists. With a name, its command has
// that name.
func gated(t testing.TB, name string) (conf Server, gate string) {
	t.Helper()
	conf = self(t, "gated")
	dir := t.TempDir()
	gate = filepath.Join(dir, "gate")
	conf.Env["ADZE_FAKE_GATE"] = gate
	if name != "" {
		if runtime.GOOS == "windows" {
			t.Skip("links need a privilege")
		}
		link := filepath.Join(dir, name)
		if err := os.Symlink(conf.Command, link); err != nil {
			t.Fatal(err)
		}
		conf.Command, conf.Args = link, []string{"-y", "some-server"}
	}
	return conf, gate
}

func openGate(t testing.TB, gate string) {
	t.Helper()
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// npx used to be killed in the middle of an install that took longer than the start limit. It left a broken cache, and
// every later start failed.
func TestLauncherInstallsInTheBackground(t *testing.T) {
	t.Parallel()
	conf, gate := gated(t, "npx")
	conf.StartTimeout = 10
	d := open(t, map[string]Server{"slow": conf}, Options{})
	err := d.Wait(t.Context())
	if err == nil || !strings.Contains(err.Error(), "slow: no response within 10 ms. npx may still be installing the server; it continues to start in the background") {
		t.Fatal(err)
	}
	if o := d.call(t.Context(), "slow__echo", `{}`); o.Error == nil || o.Error.Type != tool.NotRegistered {
		t.Errorf("%+v", o)
	}
	waittest.Until(t, "the status shows stderr", func() bool {
		st := d.List()[0]
		return st.State == Starting && st.Err != nil && strings.HasSuffix(st.Err.Error(), "; stderr: installing left-pad")
	})
	if err := d.Reconnect(t.Context(), "slow"); err == nil || !strings.Contains(err.Error(), "continues to start") {
		t.Error(err)
	}
	if names := d.Installing(); !slices.Equal(names, []string{"slow"}) {
		t.Error(names)
	}
	openGate(t, gate)
	waittest.Until(t, "the server is ready", func() bool { return d.List()[0].State == Ready })
	if o := d.call(t.Context(), "slow__echo", `{"text":"late"}`); o.Result.Text() != "echo late" {
		t.Errorf("%+v", o)
	}
	if st := d.List()[0]; st.Starts != 1 || st.Err != nil || len(d.Installing()) != 0 {
		t.Errorf("%+v", st)
	}
	d.Servers.Close()
	if exists(gate + ".rolledback") {
		t.Error("it was sent a SIGTERM")
	}
}

// Close lets an install finish.
func TestCloseLetsAnInstallFinish(t *testing.T) {
	t.Parallel()
	conf, gate := gated(t, "npx")
	d := open(t, map[string]Server{"slow": conf}, Options{finish: time.Hour})
	begun(t, gate, 1)
	closed := make(chan struct{})
	go func() {
		d.Servers.Close()
		close(closed)
	}()
	<-d.links["slow"].life.Done()
	openGate(t, gate)
	<-closed
	if !exists(gate+".installed") || exists(gate+".rolledback") {
		t.Error("the install was ended")
	}
}

// Close waits for an install only until the user is in a hurry: a second Ctrl-C used to change nothing.
func TestCloseInAHurry(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no SIGTERM")
	}
	t.Parallel()
	conf, gate := gated(t, "npx")
	hurry := make(chan struct{})
	d := open(t, map[string]Server{"slow": conf}, Options{finish: 24 * time.Hour, Hurry: hurry})
	begun(t, gate, 1)
	closed := make(chan struct{})
	go func() {
		d.Servers.Close()
		close(closed)
	}()
	<-d.links["slow"].life.Done()
	if exists(gate + ".rolledback") {
		t.Error("it was stopped at the first Ctrl-C")
	}
	close(hurry)
	<-closed
	if !exists(gate + ".rolledback") {
		t.Error("it was killed, or finished")
	}
}

// A server that doesn't finish gets one SIGTERM and time to clean up.
func TestCloseLetsAnInstallRollBack(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no SIGTERM")
	}
	t.Parallel()
	for _, name := range []string{"npx", ""} { // "" can be a script that runs npx
		conf, gate := gated(t, name)
		d := open(t, map[string]Server{"slow": conf}, Options{finish: time.Millisecond})
		begun(t, gate, 1)
		d.Servers.Close()
		if !exists(gate + ".rolledback") {
			t.Errorf("%q was killed", name)
		}
	}
}

// begun waits until n gated servers run.
func begun(t testing.TB, gate string, n int) {
	t.Helper()
	waittest.Until(t, "the servers begin", func() bool {
		found, _ := filepath.Glob(gate + ".begun.*")
		return len(found) >= n
	})
}

// A server that is not a launcher and doesn't answer in time is stopped. The error has the last lines of its stderr.
func TestStderrOfAStart(t *testing.T) {
	t.Parallel()
	want := "; stderr:"
	const tailLines = 8 // that the error shows
	for i := range tailLines {
		want += fmt.Sprintf("\n    step %d", 20-tailLines+i+1)
	}
	longer(t, func(limit time.Duration) error {
		conf := self(t, "stderr")
		conf.StartTimeout = limit.Milliseconds()
		d := open(t, map[string]Server{"fake": conf}, Options{})
		d.Wait(t.Context())
		st := d.List()[0]
		if st.State != Failed || st.Err == nil || !strings.HasPrefix(st.Err.Error(), "no response within") {
			t.Fatalf("%+v", st)
		}
		if !strings.HasSuffix(st.Err.Error(), want) {
			return st.Err
		}
		return nil
	})
}

// At most maxStarts servers start at once, and waiting doesn't count as start time.
func TestStartsAreLimited(t *testing.T) {
	t.Parallel()
	conf, gate := gated(t, "")
	servers := map[string]Server{"remote": {HTTPURL: "http://127.0.0.1:1/mcp"}}
	for i := range maxStarts + 2 {
		servers[fmt.Sprint("s", i)] = conf
	}
	d := open(t, servers, Options{Start: time.Hour, hold: time.Hour})
	begun(t, gate, maxStarts)
	starts, waiting := 0, 0
	for _, st := range d.List() {
		if st.Transport != "stdio" {
			continue
		}
		starts += st.Starts
		if st.State == Starting && strings.HasPrefix(st.Err.Error(), "waiting to start") && st.Began.IsZero() {
			waiting++
		}
	}
	if starts != maxStarts || waiting != 2 {
		t.Errorf("%d starts, %d wait", starts, waiting)
	}
	openGate(t, gate)
	if err := d.Wait(t.Context()); err == nil || strings.Count(err.Error(), "MCP server ") != 1 || !strings.Contains(err.Error(), "MCP server remote: ") {
		t.Error(err)
	}
}

// Five of twelve servers hang, more than may start at once. The others still start.
func TestHangingServersDelayNoOthers(t *testing.T) {
	t.Parallel()
	servers := map[string]Server{}
	for i := range 12 {
		mode := "plain"
		if i < 5 {
			mode = "silent"
		}
		servers[fmt.Sprintf("s%02d", i)] = self(t, mode)
	}
	d := open(t, servers, Options{Start: time.Hour, hold: time.Millisecond})
	for i := 5; i < 12; i++ {
		alias := fmt.Sprintf("s%02d", i)
		if err := d.WaitFor(t.Context(), alias); err != nil {
			t.Fatal(err)
		}
		if o := d.call(t.Context(), alias+"__echo", `{"text":"x"}`); o.Result.Text() != "echo x" {
			t.Errorf("%+v", o)
		}
	}
	for _, st := range d.List()[:5] {
		if st.State != Starting {
			t.Errorf("%+v", st)
		}
	}
}

// Adze waits only once for a server that doesn't start in time, and twice for a launcher, which may have installed it.
func TestLateServersAreNoted(t *testing.T) {
	t.Parallel()
	for name, notes := range map[string][]bool{"": {true, true}, "npx": {false, true}} {
		conf, gate := gated(t, name)
		opt := Options{State: t.TempDir(), finish: time.Millisecond}
		for i, want := range notes {
			d := open(t, map[string]Server{"slow": conf}, opt)
			begun(t, gate, i+1)
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			if err := d.Wait(ctx); err == nil || !strings.Contains(err.Error(), "slow: still starting") {
				t.Error(err)
			}
			cancel()
			d.Servers.Close()
			if got := d.links["slow"].startedSlowly() != ""; got != want {
				t.Errorf("%q, time %d: noted %v", name, i+1, got)
			}
		}
		// Adze didn't wait for this one, so there is no note.
		d := open(t, map[string]Server{"other": conf}, opt)
		begun(t, gate, len(notes)+1)
		d.Servers.Close()
		if why := d.links["other"].slowStartNote().Why; why != "" {
			t.Errorf("%q: %s", name, why)
		}
	}
}

func TestStartTimeoutSpellings(t *testing.T) {
	for _, c := range []struct {
		conf Server
		want time.Duration
	}{
		{Server{}, time.Minute},
		{Server{StartTimeout: 1500}, 1500 * time.Millisecond},
		{Server{DiscoveryTimeoutMs: 2000}, 2 * time.Second},
		{Server{StartupTimeoutSec: 2.5}, 2500 * time.Millisecond},
		{Server{StartTimeout: 1, DiscoveryTimeoutMs: 2, StartupTimeoutSec: 3}, time.Millisecond},
	} {
		if got := c.conf.startTimeout((&Options{}).start()); got != c.want {
			t.Errorf("%+v: %s", c.conf, got)
		}
		if c.conf.Hash() != (Server{}).Hash() {
			t.Errorf("%+v is another server", c.conf)
		}
	}
	if _, err := (Server{Command: "x", StartTimeout: -1}).transport(); err == nil {
		t.Error("a negative time is taken")
	}
	if unknown := UnknownKeys([]byte(`{"startTimeout":1,"discoveryTimeoutMs":1,"startup_timeout_sec":1.5}`)); unknown != nil {
		t.Error(unknown)
	}
}

func command(words ...string) Server { return Server{Command: words[0], Args: words[1:]} }

func TestLaunchers(t *testing.T) {
	for _, c := range []struct {
		conf Server
		want string
	}{
		{command("npx", "-y", "x"), "npx"},
		{command("/usr/bin/npx", "x"), "npx"},
		{command(`C:\node\npx.cmd`, "x"), "npx"},
		{command("npm", "--silent", "exec", "x"), "npm exec"},
		{command("pnpm", "dlx", "x"), "pnpm dlx"},
		{command("bunx", "x"), "bunx"},
		{command("uvx", "x"), "uvx"},
		{command("uv", "--directory", "/x", "run", "server.py"), "uv run"},
		{command("pipx", "run", "x"), "pipx run"},
		{command("docker", "run", "-i", "x"), "docker run"},
		{command("sh", "-c", "cd /x && exec npx -y x"), "npx"},
		{command("bash", "-lc", "A=1 uvx x"), "uvx"},
		{command("env", "A=b", "npx", "x"), "npx"},
		{command("timeout", "60", "npx", "x"), "npx"},
		{command("env", "sh", "-c", "npx x"), "npx"},
		{command("cmd", "/c", "npx", "x"), "npx"},
		{command("node", "server.js"), ""},
		{command("npm", "start"), ""},
		{command("python", "-m", "npx"), ""},
		{command("sh", "-c"), ""},
		{command(""), ""},
	} {
		if got := c.conf.launcher(); got != c.want {
			t.Errorf("%q %q: %q, want %q", c.conf.Command, c.conf.Args, got, c.want)
		}
	}
}

// adze mcp serve among Adze's own servers used to duplicate every tool.
func TestItselfByItsCommandLine(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "helper")
	if err := os.Symlink(exe, link); err != nil {
		t.Skip(err)
	}
	for _, c := range []struct {
		conf Server
		want bool
	}{
		{command("adze", "mcp", "serve"), true},
		{command("/usr/local/bin/adze", "mcp", "serve", "--cwd", "/x"), true},
		{command("adze", "--cwd", "/x", "mcp", "serve"), true},
		{command(exe, "mcp", "serve"), true},
		{command(link, "mcp", "serve"), true},
		{command("sh", "-c", "cd /x; exec adze mcp serve"), true},
		{command("sh", "-c", "exec '"+link+"' mcp serve"), true},
		{command("npx", "-y", "adze", "mcp", "serve"), true},
		{command("env", "A=b", "adze", "mcp", "serve"), true},
		{command("adze", "mcp", "list"), false},
		{command("other", "mcp", "serve"), false},
		{command("ssh", "build", "adze", "mcp", "serve"), false},
		{command("docker", "run", "-i", "image", "adze", "mcp", "serve"), false},
	} {
		if got := c.conf.isItself(); got != c.want {
			t.Errorf("%q %q: %v", c.conf.Command, c.conf.Args, got)
		}
	}
	d := open(t, map[string]Server{"me": command("adze", "mcp", "serve"), "good": self(t, "plain")}, Options{})
	err = d.Wait(t.Context())
	if err == nil || err.Error() != "MCP server me: "+ErrItself.Error() {
		t.Error(err)
	}
	if st := d.List()[1]; st.State != Skipped || st.Starts != 0 {
		t.Errorf("%+v", st)
	}
}

// A script that runs adze mcp serve is recognized when it answers, and not started again.
func TestItselfByItsHandshake(t *testing.T) {
	t.Parallel()
	d := open(t, map[string]Server{"me": self(t, "adze")}, Options{State: t.TempDir()})
	if err := d.Wait(t.Context()); !errors.Is(err, ErrItself) {
		t.Error(err)
	}
	if err := d.Reconnect(t.Context(), "me"); !errors.Is(err, ErrItself) {
		t.Error(err)
	}
	if st := d.List()[0]; st.State != Skipped || st.Starts != 1 || len(d.All()) != 0 {
		t.Errorf("%+v, %d tools", st, len(d.All()))
	}
}

// Every server can detect that Adze started it, and its configuration can't hide that.
func TestServersAreMarked(t *testing.T) {
	env := serverEnv([]string{"PATH=/bin", Nested + "="}, map[string]string{Nested: "", "A": "b"})
	if !slices.Contains(env, Nested+"=1") || slices.Contains(env, Nested+"=") {
		t.Error(env)
	}
}
