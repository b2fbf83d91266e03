package permission

import "testing"

// Windows ignores case, and dots and spaces at the end of a name; after a colon is a stream of the file. Deny rules
// missed secret.txt. and secret.txt::$DATA, which are not there yet or named by a program.
func TestNamesOfWindows(t *testing.T) {
	for _, c := range []struct {
		goos, pattern, name string
		want                bool
	}{
		{"windows", "secret.txt", "SECRET.txt", true},
		{"windows", "secret.txt", "secret.txt.", true},
		{"windows", "secret.txt", "secret.txt. .", true},
		{"windows", "secret.txt", "secret.txt::$DATA", true},
		{"windows", "secret.txt", "Secret.txt. :x", true},
		{"windows", "*.pem", "key.PEM ", true},
		{"windows", "C:", "c:", true},
		{"windows", "secret.txt", "secret.txt2", false},
		{"windows", "...", "...", true},
		{"linux", "secret.txt", "secret.txt.", false},
		{"linux", "secret.txt", "SECRET.txt", false},
		{"linux", "a:b", "a:b", true},
		{"darwin", "secret.txt", "SECRET.txt", true},
		{"darwin", "secret.txt", "secret.txt.", false},
	} {
		if got := matchComponent(c.goos, c.pattern, c.name); got != c.want {
			t.Errorf("%s: %q matches %q: %v", c.goos, c.pattern, c.name, got)
		}
	}
}
