package bash

import (
	"strings"
	"testing"
)

// Commands in texts that bash reads twice. "?" is an unknown one.
func TestReadTwice(t *testing.T) {
	for line, want := range map[string]string{
		`echo $((a['$(rm x)']))`: "rm x", `[[ 'a[$(rm x)]' -eq 1 ]]`: "rm x", `x='a[$(rm x)]'; echo $((x))`: "rm x", `[ -v 'a[$(rm x)]' ]`: "rm x", `printf -v 'a[$(rm x)]' y`: "rm x", `printf %n 'a[$(rm x)]'`: "rm x",
		`PS4='$(rm x)'; set -x`: "rm x", `env PS4='$(rm x)' bash -x`: "rm x", `read 'a[$(rm x)]'`: "rm x", `x='$'; y='(rm x)'; echo $(($x$y))`: "?", `echo $((a['$(rm "x")']))`: "?",
		`echo '$(rm x)'`: "", `echo $((1+1)) '$(rm x)'`: "rm x", `echo $((1))`: "", `printf '%s' '$(rm x)'`: "", `[ a = '$(rm x)' ]`: "",
	} {
		script := mustRead(t, line)
		var got []string
		for _, c := range script.Commands {
			switch {
			case c.By == nil || c.By.Name() != "an expansion":
			case c.Name() == "":
				got = append(got, "?")
			default:
				got = append(got, c.String())
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}
