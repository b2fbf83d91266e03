package slash

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	contextfiles "github.com/adze-dev/adze/internal/engine/context"
)

// An argument of a command file is one word of the command that it is inserted in, wherever that is: in double quotes a
// command in it would run, and in single quotes it could end them.
func TestArgumentsAreOneWord(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs a POSIX shell")
	}
	t.Parallel()
	hostile := []string{"a b", "'; touch ran; '", "$(touch ran)", "`touch ran`", "\"; touch ran; \"", `\`, "x\ntouch ran\n", "a[$(touch ran)]", "'", "plain", "*", "#", "'\"'\"'; touch ran #"}
	inserted := 0
	for text, exact := range map[string]bool{
		"printf %s ARG": true, "printf %s \"ARG\"": true, "printf %s 'ARG'": true, "printf %s '<'\"ARG\"'>'": true, "printf %s \"it's ARG\"": true,
		"printf %s \\\\ARG": false, "printf %s \"$(printf %s ARG)\"": false, "cat <<E\nARG\nE": false, "cat <<'E'\nARG\nE": false, "printf %s $'it\\'s ARG'": false,
		"true # it's ARG\n": false, "echo `printf %s ARG`": false, "echo $((ARG))": false, "printf %s \"${X:-ARG}\"": false, "printf %s \"a\" 'b' \"$(printf '%s' \"ARG\")\"": false,
	} {
		for _, argument := range hostile {
			before, after, _ := strings.Cut(text, "ARG")
			parts := []contextfiles.Part{{Text: before}, {Kind: contextfiles.ArgumentsPart}, {Text: after}}
			line, err := shellLine(contextfiles.Command{}, parts, argument)
			if err != nil {
				if exact {
					t.Errorf("%s with %q: %v", text, argument, err)
				}
				continue
			}
			inserted++
			dir := t.TempDir()
			cmd := exec.Command("bash", "-c", line)
			cmd.Dir = dir
			out, _ := cmd.Output() // the shell may reject the line
			if _, err := os.Lstat(filepath.Join(dir, "ran")); err == nil {
				t.Errorf("%s: %q ran: %s", text, argument, line)
			}
			if exact && !strings.Contains(string(out), argument) {
				t.Errorf("%s: %q became %q: %s", text, argument, out, line)
			}
		}
	}
	t.Logf("%d commands", inserted)
}
