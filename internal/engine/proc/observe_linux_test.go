package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/dev/kerneltest"
	"github.com/adze-dev/adze/internal/dev/serial"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
)

func needsObserving(t *testing.T, r *Runner) {
	t.Helper()
	if err := r.CanObserve(); err != nil {
		t.Skip("refused writes can't be observed here:", err)
	}
}

// In a sandbox that reports refused writes the same attempts fail as in one without namespaces that doesn't, and those
// that would write in the file system are reported.
func TestObservedAttempts(t *testing.T) {
	r := opened(t, Options{})
	needsObserving(t, r)
	i := slices.IndexFunc(columns, func(c column) bool {
		return c.name == "read-only by Landlock and seccomp"
	})
	f := newField(t, setuid)
	spec := f.spec(sandbox.ReadOnly)
	spec.Observe = true
	env := f.env
	for name, row := range rows {
		f.env = append(slices.Clip(env), "BOX_ONLY="+name)
		o := run(t, r, Command{Argv: []string{unraced}, Dir: f.in, Env: f.env, Sandbox: spec})
		got := strings.Contains(o.Output.String(), name+"\t+")
		want := strings.Fields(row)[i] == "+" || name == "chmod outside" // to the mode that it has
		if got != want || want && len(o.Refused) > 0 {
			t.Errorf("%s: %v, want %v: %+v", name, got, want, o)
		}
		writes := regexp.MustCompile(`^write (in|out)|chmod|escape$|^git `)
		if writes.MatchString(name) && !want && len(o.Refused) == 0 {
			t.Errorf("%s: not reported: %+v", name, o)
		}
	}
	f.intact(t, sandbox.ReadOnly)
}

// Reads are limited without mounts: directories that contain hidden files are allowed entry by entry.
func TestObservedLimits(t *testing.T) {
	l := furnished(t)
	needsObserving(t, l.runner)
	spec := *l.spec
	spec.Observe = true
	for line, want := range map[string]string{
		"cat a.txt": "plain\n", "ls": "a.txt\nevil\nlink\nsub\n", "ls sub": "key.pem\n",
		"cat .env": "", "cat sub/key.pem": "",
		"cat link": "", "cat ../outside/file": "", "./evil": "", "(exec 3< .env; cat <&3)": "", "cat /proc/self/cwd/.env": "",
		"cat /etc/passwd | head -c 0; echo read": "read\n",
	} {
		if o := l.run(t, line+" 2>/dev/null", &spec); o.Output.String() != want || len(o.Refused) > 0 {
			t.Errorf("%s: %q, %q", line, o.Output.String(), o.Refused)
		}
	}
	// A closed directory, and one that a deny rule hides.
	spec.Covers = append(sandbox.Closed.Cover(l.dir+"/sub"), sandbox.Unreadable.Cover(l.dir+"/a.txt")...)
	if o := l.run(t, "cat a.txt sub/key.pem .env 2>/dev/null", &spec); o.Output.String() != "CANARY=inside\n" {
		t.Errorf("%q", o.Output.String())
	}
}

// With too many entries beside hidden files, the command doesn't run.
func TestObservedLimitsAreBounded(t *testing.T) {
	serial.Test(t)
	l := furnished(t)
	needsObserving(t, l.runner)
	many := filepath.Join(l.dir, "many")
	if err := os.Mkdir(many, 0o700); err != nil {
		t.Fatal(err)
	}
	const entries = 15_000
	file := ""
	for i := range 2 * entries {
		if i == entries { // half of them beside a hidden file are few enough
			beside := *l.spec.Limits
			beside.Execute = append(slices.Clip(beside.Execute), l.dir)
			half := *l.spec
			half.Observe, half.Limits = true, &beside
			half.Covers = append(slices.Clip(half.Covers), sandbox.Empty.Cover(many+"/7")...)
			if o := l.run(t, "cat a.txt many/7", &half); o.Output.String() != "plain\ncat: many/7: Permission denied\n" {
				t.Errorf("%+v", o)
			}
		}
		if i%1000 < 10 { // 7 is hidden, and has no other name
			file = fmt.Sprintf("%s/%d", many, i)
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		} else if err := os.Link(file, fmt.Sprintf("%s/%d", many, i)); err != nil { // it takes less time than a new file
			t.Fatal(err)
		}
	}
	spec := *l.spec
	spec.Observe = true
	if o := l.run(t, "cat a.txt", &spec); o.Output.String() != "plain\n" {
		t.Errorf("a large directory without a hidden file: %+v", o)
	}
	spec.Covers = append(slices.Clip(spec.Covers), sandbox.Empty.Cover(many+"/7")...)
	_, err := l.runner.Run(t.Context(), Command{Line: "cat a.txt", Dir: l.dir, Sandbox: &spec})
	if err == nil || !strings.Contains(err.Error(), "directories with hidden files have more than 20000 entries") {
		t.Errorf("%v", err)
	}
}

// Processes that a command leaves are stopped and counted, and what they wrote before is reported.
func TestObservedLeftovers(t *testing.T) {
	l := furnished(t)
	needsObserving(t, l.runner)
	spec := *l.spec
	spec.Observe = true
	if o := l.run(t, "sleep 1000 & setsid sleep 1000 & echo x", &spec); o.Stopped != 2 || o.Output.String() != "x\n" {
		t.Errorf("%+v", o)
	}
	o := l.run(t, "setsid sh -c 'touch late; sleep 1000' & wait", &spec)
	if !slices.Equal(o.Refused, []string{l.dir + "/late"}) {
		t.Errorf("%+v", o)
	}
	if o := l.run(t, "echo x > $TMPDIR/x; cat <(cat $TMPDIR/x)", &spec); o.Stopped != 0 || o.Output.String() != "x\n" {
		t.Errorf("%+v", o)
	}
}

// Memory, processes and disk space of an observed command are limited.
func TestObservedUsage(t *testing.T) {
	l := furnished(t)
	needsObserving(t, l.runner)
	for line, limits := range map[string]sandbox.Trials{
		"for i in $(seq 100); do sleep 1000 & done; wait":                         {Processes: 50},
		"while :; do head -c 1000000 /dev/zero >> $TMPDIR/$i; i=$((i + 1)); done": {Bytes: 32 << 20},
		"while :; do :; done": {CPU: 100_000_000},
		"x=$(head -c 200000000 /dev/zero | tr '\\0' x); sleep 1000; echo ${#x}": {Memory: 100 << 20},
		"BOX_ATTEMPT=memory " + unraced:                                         {Memory: 100 << 20},
	} {
		may := *l.spec.Limits
		may.Execute = append(slices.Clip(may.Execute), unraced)
		spec := *l.spec
		spec.Observe, spec.Trial, spec.Limits = true, &limits, &may
		if o := l.run(t, line, &spec); o.Limit == "" {
			t.Errorf("%s: %+v", line, o)
		}
	}
}

// observedContainers are those of package kerneltest that don't allow to take a descriptor from a process, or to read its memory.
var observedContainers = []string{"docker", "podman"}

// Writes used to be observed only where the listener may take descriptors, which Docker doesn't allow by default, and where it
// may call process_vm_readv, which Podman doesn't.
func TestObservedInContainers(t *testing.T) {
	if name := os.Getenv("BOX_CONTAINER"); name != "" {
		if err := kerneltest.Become(name); err != nil {
			t.Fatal(err)
		}
		for name, test := range map[string]func(t *testing.T){
			"attempts": TestObservedAttempts, "limits": TestObservedLimits, "leftovers": TestObservedLeftovers,
			"usage": TestObservedUsage, "attributes": TestObservedAttributes, "swaps": TestObservedSwaps,
		} {
			t.Run(name, func(t *testing.T) {
				defer func() {
					if t.Skipped() {
						t.Error("it was skipped")
					}
				}()
				test(t)
			})
		}
		return
	}
	needsObserving(t, opened(t, Options{}))
	for _, name := range observedContainers {
		t.Run(name, func(t *testing.T) { again(t, "TestObservedInContainers", nil, "BOX_CONTAINER="+name) })
	}
}

// A command changes the mode and the times of an open file in its temp directory, as cp -p does, and of no other.
func TestObservedAttributes(t *testing.T) {
	l := furnished(t)
	needsObserving(t, l.runner)
	spec := *l.spec
	spec.Observe = true
	line := "touch -d 2001-01-01 $TMPDIR/old && cp -p $TMPDIR/old $TMPDIR/new && touch -d 2002-02-02 - >> $TMPDIR/new; stat -c %y $TMPDIR/*"
	o := l.run(t, line, &spec)
	if got := regexp.MustCompile(`(?m)^[\d-]+`).FindAllString(o.Output.String(), -1); !slices.Equal(got, []string{"2002-02-02", "2001-01-01"}) || len(o.Refused) > 0 {
		t.Errorf("%+v", o)
	}
	if o := l.run(t, "touch -d 2001-01-01 - < a.txt >&0", &spec); !slices.Equal(o.Refused, []string{l.dir + "/a.txt"}) {
		t.Errorf("%+v", o)
	}
}

// A descriptor that becomes another file while its mode is changed changes no file outside the temp directory.
func TestObservedSwaps(t *testing.T) {
	l := furnished(t)
	needsObserving(t, l.runner)
	may := *l.spec.Limits
	may.Execute = append(slices.Clip(may.Execute), unraced)
	spec := *l.spec
	spec.Observe, spec.Limits = true, &may
	refused := 0
	for range 20 {
		o := l.run(t, "> $TMPDIR/own; BOX_ATTEMPT=swap "+unraced+" $TMPDIR/own a.txt", &spec)
		refused += len(o.Refused)
		if st, err := os.Stat(filepath.Join(l.dir, "a.txt")); err != nil || st.Mode() != 0o700 {
			t.Fatalf("%v, %v: %+v", st, err, o)
		}
	}
	if refused == 0 {
		t.Error("the listener never saw the other file: the test shows nothing")
	}
}

// Without a listener there is no such sandbox, and no command runs in a weaker one.
func TestObservedRequires(t *testing.T) {
	l := newLimited(t)
	for _, layer := range []sandbox.Layers{sandbox.Landlock, sandbox.Seccomp, sandbox.Notify} {
		spec := *l.spec
		spec.Observe, spec.Without, spec.BestEffort = true, layer, true
		if _, err := l.runner.Run(t.Context(), Command{Line: "true", Dir: l.dir, Sandbox: &spec}); err == nil {
			t.Errorf("it ran without %v", layer)
		}
	}
	spec := sandbox.Spec{Mode: sandbox.Workspace, Observe: true}
	if _, err := spec.Plan(); err == nil {
		t.Error("workspace mode can't observe")
	}
}
