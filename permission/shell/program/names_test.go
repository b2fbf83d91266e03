package program

import "testing"

func TestHeldVar(t *testing.T) {
	for name, want := range map[string]bool{
		"x": true, "COUNT": true, "FILE_1": true, "PATH": false, "HOME": false, "BASH_ENV": false, "GIT_DIR": false, "Count": false, "": false, "_": false, "NO_COLOR": false,
	} {
		if got := HeldVar(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
