package program

import "testing"

func TestContainsWord(t *testing.T) {
	for text, want := range map[string]bool{
		"rm": true, "a;rm -rf": true, "rmdir": false, "arm": false, "rmrm rm": true, "/bin/rm": true, "rm_x": false, "": false,
	} {
		if got := ContainsWord(text, "rm"); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestHeldVar(t *testing.T) {
	for name, want := range map[string]bool{
		"x": true, "COUNT": true, "FILE_1": true, "PATH": false, "HOME": false, "BASH_ENV": false, "GIT_DIR": false, "Count": false, "": false, "_": false, "NO_COLOR": false,
	} {
		if got := HeldVar(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
