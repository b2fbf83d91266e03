package permission_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/dev/bashlab"
	"github.com/adze-dev/adze/internal/dev/serial"
	"github.com/adze-dev/adze/internal/dev/soak"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/permission/ondisk"
	"github.com/adze-dev/adze/tool"
)

func TestMain(m *testing.M) { bashlab.Main(m, approvedHere) }

// approvedHere reports whether a command runs without approval in the workspace of a bashlab.Runner, as it is now.
func approvedHere(line string) bool {
	w := permission.World{Roots: []string{root}, Home: home, State: home + "/.adze", Disk: ondisk.New([]string{root}), Secrets: secretsIn(root)}
	return permission.New(w, permission.Default).Judge(commandRequest(line)).Verdict == tool.Allow
}

// approved reports whether a command runs without approval on a disk without secrets and links.
func approved(line string) bool {
	return permission.New(plainWorld(), permission.Default).Judge(commandRequest(line)).Verdict == tool.Allow
}

// Attacks that are marked with ! do harm where they run.
func TestAttacksDoHarm(t *testing.T) {
	serial.Test(t)
	soak.Skip(t, 5, 100)
	t.Parallel()
	if !bashlab.Has("git") {
		t.Skip("no git in the namespaces")
	}
	r := bashlab.StartRunner(t)
	every, ran := soak.OneIn(20), 0
	for i, l := range corpus(t).Attacks {
		if !l.Harmful || i%every != 0 || missing(l.Text) {
			continue
		}
		e := r.Run(t, bashlab.Command{Line: l.Text})
		if e.Harm() == "" { // a busy machine may have been too slow
			e = r.Run(t, bashlab.Command{Line: l.Text, Patient: true})
		}
		if e.Harm() == "" {
			t.Errorf("attacks.txt:%d: does no harm: %s\n%d: %s", l.Number, l.Text, e.Code, e.Output)
		}
		ran++
	}
	t.Logf("%d attacks did harm", ran)
}

// missing reports whether a line is about a program that not every machine has, and this one doesn't.
func missing(line string) bool {
	name := strings.Fields(line)[0]
	return !bashlab.Has(name) && slices.Contains([]string{"tree", "rg", "gawk", "busybox", "fd"}, name)
}

func TestHarmlessDoNoHarm(t *testing.T) {
	t.Parallel()
	r := bashlab.StartRunner(t)
	every := soak.OneIn(20)
	for i, l := range corpus(t).Harmless {
		if i%every != 0 || !approved(l.Text) {
			continue
		}
		if e := r.Run(t, bashlab.Command{Line: l.Text, Restricted: true}); e.Harm() != "" {
			t.Errorf("harmless.txt:%d: %s: %s", l.Number, l.Text, e.Harm())
		}
	}
}

// oddFiles make names that come apart as words, links out of the workspace, and secrets where none are expected.
var oddFiles = []string{
	`mkdir -p 'docs/x /home/me' && echo foo > 'docs/x /home/me/notes.txt'`, `mkdir -p $'src/x\n/home/me' && echo foo > $'src/x\n/home/me/notes.txt'`, `ln -s ../../notes.txt src/l.txt`, `ln -s ../notes.txt l.go`,
	`ln -s ../.env src/l.txt`, `cp .env src/.env`, `echo foo > './-f.txt'`, `echo foo > "src/'\"' .txt"`, `ln -s /home/me src/up`, `mkdir -p src/d.txt && cp .env src/d.txt/`, `cp .env 'src/*'`, `echo '!.env' > .ignore`, `mv .env docs/.env.txt`, `cp .env docs/x.pem`,
}

// Lines that run without approval change no file, contact no host, run no program of the workspace and print no secret,
// also in hostile repositories and with odd names of files.
func TestApprovedDoNoHarm(t *testing.T) {
	serial.Test(t)
	t.Parallel()
	s := bashlab.Rand()
	g := bashlab.NewGenerator(s, corpus(t))
	r := bashlab.StartRunner(t)
	made, ran := soak.Count(200, 20000), 0
	for range made {
		c := bashlab.Command{Line: g.Command(), Restricted: true, IfApproved: true}
		if !approved(c.Line) || waits(c.Line) {
			continue
		}
		switch n := s.IntN(20); {
		case n < 2 && strings.Contains(c.Line, "git "):
			c.Setup = []string{bashlab.Pick(s, hostile).setup}
		case n == 2:
			c.Setup = []string{bashlab.Pick(s, oddFiles)}
		}
		ran += runApproved(t, r, c)
	}
	t.Logf("%d of %d lines ran without approval", ran, made)
}

// Lines that run without approval do no harm, whichever of their branches run.
func TestApprovedFlowsDoNoHarm(t *testing.T) {
	serial.Test(t)
	t.Parallel()
	g := bashlab.NewGenerator(bashlab.Rand(), corpus(t))
	r := bashlab.StartRunner(t)
	made, ran := soak.Count(600, 60000), 0
	for range made {
		line := g.Flow()
		if !approved(line) || strings.Contains(line, "until") && strings.Contains(line, "continue") {
			continue
		}
		ran += runApproved(t, r, bashlab.Command{Line: line, Restricted: true, IfApproved: true})
	}
	t.Logf("%d of %d lines ran without approval", ran, made)
}

// runApproved runs a command, if the policy allows it without approval, and returns how many ran.
func runApproved(t *testing.T, r *bashlab.Runner, c bashlab.Command) int {
	t.Helper()
	e := r.Run(t, c)
	if e.Harm() != "" {
		t.Errorf("%q after %q: %s: %s", c.Line, c.Setup, e.Harm(), e.Output)
	}
	if e.NeedsApproval {
		return 0
	}
	return 1
}

// waits reports whether a command may only wait.
func waits(line string) bool {
	return slices.ContainsFunc([]string{"sleep", "tail -f", "-F", "--follow", "-f "}, func(s string) bool { return strings.Contains(line, s) })
}

// Every flag of every program on the read-only list is harmless, with many values and operands.
func TestEveryFlagIsHarmless(t *testing.T) {
	serial.Test(t)
	t.Parallel()
	r := bashlab.StartRunner(t)
	ran, i := 0, 0
	every := soak.OneIn(300)
	for _, name := range slices.Sorted(maps.Keys(bashlab.Flags())) {
		if !bashlab.Has(strings.Fields(name)[0]) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			for _, flag := range bashlab.Flags()[name] {
				for _, line := range uses(name, flag) {
					if i++; i%every != 0 || !approved(line) || waits(line) {
						continue
					}
					ran++
					if e := r.Run(t, bashlab.Command{Line: line, Restricted: true}); e.Harm() != "" {
						t.Errorf("%q: %s", line, e.Harm())
					}
				}
			}
		})
	}
	t.Logf("%d uses of flags ran", ran)
}

// uses returns commands with a flag, and with its value in every way to write it.
func uses(name, flag string) (lines []string) {
	flags := []string{flag}
	if base, _, found := strings.Cut(flag, " VALUE"); found || strings.Contains(flag, "[") {
		base, _, _ = strings.Cut(base, "[")
		glue := ""
		if strings.HasPrefix(base, "--") {
			glue = "="
		}
		flags = nil
		for _, v := range []string{"1", "x", "./evil.sh"} {
			flags = append(flags, base+" "+v, base+glue+v)
		}
	}
	for _, f := range flags {
		for _, operands := range []string{"", " README.md x", " hello README.md", " list", " < README.md"} {
			lines = append(lines, name+" "+f+operands)
		}
		lines = append(lines, name+" x "+f)
	}
	return lines
}

// FuzzApproved runs the lines of a fuzzer that need no approval.
func FuzzApproved(f *testing.F) {
	corpus(f).AddSeeds(f)
	if !bashlab.Fuzzing() && !soak.On() {
		f.Skip("other tests run the corpus")
	}
	r := bashlab.StartRunner(f)
	n, every := 0, soak.OneIn(100)
	f.Fuzz(func(t *testing.T, line string) {
		if !approved(line) || waits(line) || strings.ContainsRune(line, 0) {
			return
		}
		if n++; bashlab.Fuzzing() || n%every == 0 {
			runApproved(t, r, bashlab.Command{Line: line, Restricted: true, IfApproved: true})
		}
	})
}
