package gitconfig

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/adze-dev/adze/internal/dev/soak"
)

// line is a setting as git lists it.
type line struct {
	Key, Value string
	Valued     bool
}

// lines are the settings of a text. Only newer versions of git distinguish whitespace in values.
func lines(text []byte) ([]line, bool) {
	settings, err := Parse(text)
	if err != nil {
		return nil, false
	}
	out := []line{}
	for _, s := range settings {
		name := s.Key.String()
		if s.Key.Section == "" && !s.Key.HasSub && !strings.Contains(name[1:], ".") {
			name = strings.TrimPrefix(name, ".")
		}
		out = append(out, line{name, spaces(s.Value), s.Valued})
	}
	return out, true
}

func spaces(s string) string {
	return strings.NewReplacer("\t", " ", "\r", " ").Replace(s)
}

// byGit returns the settings that git reads in a text.
func byGit(t testing.TB, text []byte) ([]line, bool) {
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return listByGit(t, file)
}

func listByGit(t interface{ Fatal(...any) }, file string) ([]line, bool) {
	c := exec.Command("git", "config", "--list", "-z", "--no-includes", "-f", file)
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "HOME=" + filepath.Dir(file)}
	data, err := c.Output()
	var exit *exec.ExitError
	if err != nil {
		if !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return nil, false
	}
	out := []line{}
	for _, entry := range bytes.Split(bytes.TrimSuffix(data, []byte{0}), []byte{0}) {
		if len(data) == 0 {
			break
		}
		name, value, valued := strings.Cut(string(entry), "\n")
		out = append(out, line{name, spaces(value), valued})
	}
	return out, true
}

var configs = []string{
	"", "\n", "[a]", "[a]b", "[a]b=c", "[a]\nb = c d  # e\n", "[a]b=\"c # d\" ;x", "[a]b=c\\\nd", "[a]b=c\\\r\nd\r\n", "\xef\xbb\xbf[a]b=c", "\xef\xbb[a]b=c", "\xef",
	"[a \"b\\\"c\\\\d\\e\"]f=g", "[a \"b]\"]c=d", "[a.B]C=d", "[a \"B\"]C=d", "[a\t \"b\"]c", "[a \"b\" ]c=d", "[a \"b\"", "[a \"b\nc\"]d=e", "[a\n\"b\"]c=d", "[]a=b", "[.]a=b", "[ \"b\"]c=d", "[. \"x\"]a=b", "[\"b\"]c=d",
	"a=b", "[a]1=2", "[a]b-1=2", "[a]b_1=2", "[a]b =\n", "[a]b\r=c", "[a]b=\"c\nd\"", "[a]b=\\x", "[a]b=\\t\\n\\b\\\\\\\"", "[a]b=c\\", "[a]b=c\r", "[a]b=\rc", "[a]b==c", "[a]=b",
	"[a] b=c [d] e=f", "[a]b[c]d", "#[a\n;b\n[c]d", "[a]b=\"\" c", "[a]b=c \"\"  ", "[a]b=\" c \" ", "[a]b = c\td", "[a \"\"]b=c", "[a.]b=c", "[a \"b\"x]c", "[a]é=b", "[é]a=b", "[a]b=é",
	"[a]b=c;d", "[a]b=c\\;d", "[a]\vb=c", "[a]b\n=c", "[a]b=\\\n\\\n c",
}

func TestConfigAgainstGit(t *testing.T) {
	for _, text := range configs {
		want, wantOK := byGit(t, []byte(text))
		got, ok := lines([]byte(text))
		if ok != wantOK || cmp.Diff(want, got) != "" {
			t.Errorf("%q: git %v %v, here %v %v", text, want, wantOK, got, ok)
		}
	}
}

func TestConfigAgainstGitProperty(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	piece := rapid.SampledFrom([]string{
		"[", "]", "[a]", "[Core]", "[a \"b\"]", "[a.b]", "\"", "\\", "\\\n", "\n", "\r\n", "\r", " ", "\t", "=", "#", ";", "b", "fsmonitor", "x1-", "\\\"", "\\n", "\\q", "é", ".", "\xef\xbb\xbf", "b = c\n", "\v",
	})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(piece, 0, 14).Draw(t, "text"), "")
		if rapid.Bool().Draw(t, "begun") {
			text = "[a]\nb=" + text
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		want, wantOK := listByGit(t, file)
		got, ok := lines([]byte(text))
		if ok != wantOK || cmp.Diff(want, got) != "" {
			t.Fatalf("%q: git %v %v, here %v %v", text, want, wantOK, got, ok)
		}
	})
}

// FuzzConfig compares the parser with git if ADZE_SOAK is set. Otherwise it only checks that the parser doesn't panic.
func FuzzConfig(f *testing.F) {
	for _, c := range configs {
		f.Add([]byte(c))
	}
	f.Add([]byte("[url \"https://u:tok\\\"en@h/\"]\ninsteadOf = gh:\n[http]extraheader = AUTHORIZATION: basic dTpDQU5BUlk=\n# https://u:old@h\n"))
	f.Add([]byte("[remote \"o\"]\n\turl = https://u:to\\\nken@h/x\n[sendemail]smtppass=a\n"))
	ask := soak.On()
	f.Fuzz(func(t *testing.T, text []byte) {
		got, ok := lines(text)
		checkClean(t, text)
		if !ask || bytes.IndexByte(text, 0) >= 0 {
			return
		}
		want, wantOK := byGit(t, text)
		if ok != wantOK || cmp.Diff(want, got) != "" {
			t.Errorf("%q: git %v %v, here %v %v", text, want, wantOK, got, ok)
		}
	})
}
