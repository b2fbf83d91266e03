package cli

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze/internal/session"
)

// A client's folders narrow the workspace and never widen it.
func TestRootsNarrow(t *testing.T) {
	dir := session.Canonical(t.TempDir())
	below := filepath.Join(dir, "a")
	if err := os.Mkdir(below, 0o700); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Dir(dir), link); err != nil {
		t.Skip(err)
	}
	for _, c := range []struct{ roots, want []string }{
		{nil, nil},
		{[]string{dir}, nil},
		{[]string{filepath.Dir(dir)}, nil},
		{[]string{below}, []string{below}},
		{[]string{below, "/elsewhere"}, []string{below}},
		{[]string{below, dir}, nil},
		{[]string{"/elsewhere"}, nil},
		{[]string{link}, nil}, // leads out, above: it is the whole workspace, and not more
		{[]string{filepath.Join(dir, "..", "x")}, nil},
	} {
		if got := narrowed(dir, c.roots); !slices.Equal(got, c.want) {
			t.Errorf("%v: got %v, want %v", c.roots, got, c.want)
		}
	}
}

// The end of the input waits for answers, but not for long.
func TestPatient(t *testing.T) {
	in := `{"id":1,"method":"a"}` + "\n" + `{"method":"note"}` + "\n" + `{"id":"x","result":{}}` + "\n"
	for _, answered := range []bool{true, false} {
		var out bytes.Buffer
		p := &patient{in: oneByteReader{strings.NewReader(in)}, out: &out}
		if answered {
			time.AfterFunc(20*time.Millisecond, func() { io.WriteString(p, `{"id":1,"result":{"method":"x"}}`+"\n") })
		}
		began := time.Now()
		got, err := io.ReadAll(p)
		took := time.Since(began)
		if err != nil || string(got) != in {
			t.Errorf("read %q, %v", got, err)
		}
		if answered && took >= drainWait || !answered && took < drainWait {
			t.Errorf("answered %v: it took %v", answered, took)
		}
	}
}

type oneByteReader struct{ io.Reader }

func (r oneByteReader) Read(b []byte) (int, error) { return r.Reader.Read(b[:1]) }

func TestMCPUsage(t *testing.T) {
	for line, want := range map[string]string{
		"mcp":                         "adze mcp needs one of its commands",
		"mcp add x":                   "a server is a command",
		"mcp add x --http h --sse s":  "a server is a command",
		"mcp add --env A x b":         `expected --env K=V, got "A"`,
		"mcp add --env A=b x --sse y": "--env is for a command",
		"mcp add --scope all x y":     "expected user, project",
		"mcp serve now":               "usage: adze mcp serve",
		"mcp tools":                   "usage: adze mcp tools NAME",
	} {
		code, stdout, stderr := try(t, strings.Fields(line)...)
		if code != exitUsage || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("adze %s: exit %d, stdout %q, stderr %q; want exit 2 and %q", line, code, stdout, stderr, want)
		}
	}
	// The flags of a server's command are its own.
	code, stdout, stderr := try(t, "mcp", "add", "x", "npx", "-y", "--json", "--", "pkg")
	if code != 0 || !strings.Contains(stdout, `"args":["-y","--json","--","pkg"]`) {
		t.Errorf("exit %d, %q, %q", code, stdout, stderr)
	}
}
