package builtin

import "testing"

func TestCount(t *testing.T) {
	for want, got := range map[string]string{
		"1 file": count(1, "file"), "2 files": count(2, "file"), "1 file or directory": count(1, "file or directory"),
		"343 files or directories": count(343, "file or directory"), // it was "directorys"
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
