//go:build unix

package permission_test

import (
	"path"
	"strings"
	"testing"

	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/permission/internal/bashlab"
	"github.com/adze-dev/adze/tool"
)

// calm is a disk on which nothing lies in wait: paths lead where they say.
type calm struct{}

func (calm) Resolve(p string) string                         { return path.Clean(p) }
func (calm) Glob(string) ([]string, bool)                    { return nil, true }
func (calm) Git(string) (string, bool)                       { return "", true }
func (calm) Secret(string, permission.Search) (string, bool) { return "", true }
func (calm) Worktree(string) (string, bool)                  { return root, true }
func (calm) Program(string, string) string                   { return "" }
func (calm) Tracked(string, func(string) bool) bool          { return true }

func commandRequest(line string) tool.Request {
	return tool.Request{
		Declaration: tool.Declaration{Name: "run_shell_command", DisplayName: "Shell", Kind: tool.Execute},
		Invocation: tool.Invocation{
			Access: []tool.Access{execs(line)}, Confirm: tool.Command{Line: line, Directory: root},
		},
	}
}

func calmWorld() permission.World { return hurriedWorld().Patient() }

// hurriedWorld has the time limit of the program.
func hurriedWorld() permission.World {
	w := world()
	w.Disk = func() permission.Disk { return calm{} }
	return w
}

// example is a line of a table.
type example struct {
	line    int
	verdict tool.Verdict
	mode    permission.Mode
	rules   permission.Rules
	alone   bool // without the built-in approval
	command string
}

func corpus(t testing.TB) bashlab.Corpus { return bashlab.ReadCorpus(t, "testdata") }

// Four of five harmless commands are allowed by their text alone. All others are tried, where trials work.
func TestHarmless(t *testing.T) {
	lines := corpus(t).Harmless
	asked := 0
	for _, l := range lines {
		for _, m := range permission.Modes() {
			d, why := permission.Check(calmWorld(), permission.Rules{}, m, permission.Options{}, commandRequest(l.Text))
			if d.Try && m != permission.Yolo {
				if m == permission.Default {
					asked++
				}
				continue
			}
			if d.Verdict != tool.Allow {
				t.Errorf("harmless.txt:%d: %s: %s\n\t%s", l.Number, m, l.Text, strings.Join(why, "\n\t"))
				break
			}
			if m != permission.Yolo && (len(d.Grant) != 1 || d.Grant[0] != (tool.Access{Verb: tool.Reads, Target: "*"})) {
				t.Errorf("harmless.txt:%d: %s: %s: granted %v", l.Number, m, l.Text, d.Grant)
			}
		}
	}
	share := 1 - float64(asked)/float64(len(lines))
	if t.Logf("%.1f %% of %d are allowed by their text", 100*share, len(lines)); share < 0.8 {
		t.Errorf("%.1f %% are allowed by their text, want 80 %%", 100*share)
	}
}

func TestAttacks(t *testing.T) {
	for _, l := range corpus(t).Attacks {
		for _, m := range []permission.Mode{permission.Plan, permission.Default, permission.AutoEdit} {
			d := permission.New(calmWorld(), m).Judge(commandRequest(l.Text))
			if d.Verdict == tool.Allow {
				t.Errorf("attacks.txt:%d: %s: allowed: %s\n\t%s", l.Number, m, l.Text, d.Reason)
			}
		}
	}
}

// secretive is a calm disk with a secret in every folder.
type secretive struct{ calm }

func (secretive) Secret(dir string, _ permission.Search) (string, bool) { return dir + "/.env", true }

// sort -rn asked in every workspace that has a .env: -r was taken for what it is to grep.
func TestOnlySearchesReadFolders(t *testing.T) {
	w := world()
	w.Disk = func() permission.Disk { return secretive{} }
	for line, want := range map[string]tool.Verdict{
		"sort -rn a.txt": tool.Allow, "du -sh src | sort -rh": tool.Allow, "jq -r .a a.json": tool.Allow, "cat a.json | jq -r .a": tool.Allow, "ls -lrt": tool.Allow, "ls -R": tool.Allow,
		"tail -r a.txt": tool.Allow, "grep -n foo a.txt": tool.Allow, "git diff --name-only": tool.Allow, "uniq -c < a.txt | sort -nr": tool.Allow,
		"grep -r foo": tool.Ask, "grep -R foo .": tool.Ask, "grep -d recurse foo .": tool.Ask, "grep --recursive foo src": tool.Ask, "egrep -rn foo src": tool.Ask,
		"rg foo": tool.Ask, "diff src docs": tool.Ask, "git grep foo": tool.Ask, "ls -RL": tool.Ask, "grep --directories=recurse foo .": tool.Ask,
	} {
		if d := permission.New(w, permission.Default).Judge(commandRequest(line)); d.Verdict != want {
			t.Errorf("%s: %v, want %v", line, d.Verdict, want)
		}
	}
}
