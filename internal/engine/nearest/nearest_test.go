package nearest

import (
	"slices"
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	commands := []string{"tool", "doctor", "trust", "demo", "mcp", "permission", "version", "sandbox", "memory"}
	params := []string{"file_path", "old_string", "new_string", "offset", "limit"}
	for _, c := range []struct {
		word  string
		names []string
		want  string
	}{
		{"docter", commands, "doctor"},
		{"tol", commands, "tool"},
		{"mpc", commands, "mcp"},
		{"permision", commands, "permission"},
		{"prmission", commands, "permission"},
		{"verison", commands, "version"},
		{"Doctor", commands, "doctor"},
		{"memry", commands, "memory"},
		{"to", commands, ""},
		{"test", commands, ""},
		{"explain", commands, ""},
		{"translate", commands, ""},
		{"", commands, ""},
		{"filePath", params, "file_path"},
		{"file-path", params, "file_path"},
		{"filepth", params, "file_path"},
		{"ol_string", params, "old_string"},
		{"string", params, ""},
		{"lines", params, ""},
		{"cat", []string{"bat", "rat"}, "bat rat"},
		{"cat", []string{"bat", "rat", "cut"}, "bat rat cut"},
		{"cat", []string{"bat", "rat", "cut", "car"}, ""},
		{"cat", []string{"bat", "c_a_t"}, "c_a_t"},
		{"settings", []string{"setting", "sittings"}, "setting sittings"},
		{strings.Repeat("x", 1000), []string{strings.Repeat("x", 1000)}, ""},
		{"x", nil, ""},
	} {
		if got := Names(c.word, c.names); strings.Join(got, " ") != c.want {
			t.Errorf("%q among %q: %q, want %q", c.word, c.names, got, c.want)
		}
	}
}

func TestPart(t *testing.T) {
	for pair, want := range map[string]bool{
		"path file_path": true, "file_path path": true, "searchFiles search": true, "url urls": false, "edit edit": true, "line limit": false,
	} {
		word, name, _ := strings.Cut(pair, " ")
		if Part(word, name) != want {
			t.Errorf("Part(%q, %q) is not %v", word, name, want)
		}
	}
	if long := strings.Repeat("x", maxWord) + "path"; Part(long, "path") || Part("path", long) {
		t.Error("a long word is compared: 1 MB with the names of all tools took 4 s")
	}
}

// The distance of equal words is 0, it is symmetric, and it is at most the longer length.
func FuzzTypo(f *testing.F) {
	f.Add("docter", "doctor")
	f.Add("\xff", "ÿ")
	f.Fuzz(func(t *testing.T, a, b string) {
		if len(a) > maxWord || len(b) > maxWord {
			return
		}
		if d := Distance(a, a); d != 0 {
			t.Errorf("%q is %d from itself", a, d)
		}
		if d, back := Distance(a, b), Distance(b, a); d != back || d > max(len(a), len(b)) {
			t.Errorf("%q, %q: %d and %d", a, b, d, back)
		}
		if _, ok := Typo(a, b); ok && !slices.Equal(Names(a, []string{b}), []string{b}) {
			t.Errorf("%q may be %q, and isn't suggested", a, b)
		}
	})
}
