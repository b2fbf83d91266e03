package match

import "testing"

// A command may run the one that a rule means by its words, its input, a variable, or the value of a flag.
func TestMayRun(t *testing.T) {
	for _, tt := range []struct {
		rule, line string
		want       bool
	}{
		{"rm", "unknown rm x", true}, {"rm", "unknown 'rm x'", true}, {"rm -rf", "unknown rm x", false}, {"rm", "unknown farm", false},
		{"rm", "cat rm", false}, {"rm", "git commit -m 'rm x'", false}, {"rm", "EDITOR=rm git commit", true}, {"rm", "X=rm", true},
		{"rm", "python3 -c 'rm'", true}, {"rm", "python3 <<< 'rm x'", true}, {"rm", "make rm", false}, {"rm", "awk 'BEGIN{system(\"rm x\")}'", true},
		{"rm", "tar -Irm x", true}, {"rm", "sed '1erm x' y", true}, {"rm", "sed s/arm/x/ y", false},
		{"rm", "docker run a rm x", true}, {"rm", "docker rm x", false}, {"rm", "docker exec -i c sh <<< 'rm x'", true}, {"rm", "docker ps <<< 'rm x'", false},
		{"rm", "go test -exec rm", true}, {"rm", "git fetch --upload-pack=rm", true}, {"rm", "git config core.pager rm", true}, {"rm", "git clone ext::rm", true},
		{"rm", "env EDITOR=rm git commit", true}, {"rm", "find . -exec rm {} +", false},
	} {
		if got := pattern(t, tt.rule, true).mayRun(command(t, tt.line)); got != tt.want {
			t.Errorf("%s: %s: %v", tt.rule, tt.line, got)
		}
	}
}

func TestInText(t *testing.T) {
	p, _ := ParsePattern("rm", true)
	for text, want := range map[string]bool{
		"rm": true, "a;rm -rf": true, "rmdir": false, "arm": false, "rmrm rm": true, "/bin/rm": true, "rm_x": false, "": false,
	} {
		if got := p.inText(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
