package bash

import (
	"slices"
	"testing"
)

// In a line in which bash reads texts twice, a text with a substitution runs an unknown command.
func TestReadTwice(t *testing.T) {
	for line, want := range map[string]bool{
		`echo $((a['$(rm x)']))`: true, `[[ 'a[$(rm x)]' -eq 1 ]]`: true, `x='a[$(rm x)]'; echo $((x))`: true, `[ -v 'a[$(rm x)]' ]`: true,
		`printf -v 'a[$(rm x)]' y`: true, `printf %n 'a[$(rm x)]'`: true, `printf '%s\n' 'a[$(rm x)]'`: false, `printf '%s\n%5n' a 'b[$(rm x)]'`: true,
		`printf "$f" 'a[$(rm x)]'`: true, `printf \-v 'a[$(rm x)]' y`: true, `PS4='$(rm x)'; set -x`: true, `env PS4='$(rm x)' bash -x`: true,
		`env P$x='$(rm x)' bash -x`: true, `read 'a[$(rm x)]'`: true, `x='$'; y='(rm x)'; echo $(($x$y))`: true, `echo ${x@P} '$(rm x)'`: true,
		`echo '$(rm x)'`: false, `echo $((1+n)) 'rm x'`: false, `awk '{print $(NF-1)}' a`: false, `git commit -m 'a "b" $(c)'`: false,
	} {
		script := mustRead(t, line)
		got := slices.ContainsFunc(script.Commands, func(c *Command) bool { return c.By != nil && c.By.Name() == "an expansion" && c.Undetermined() })
		if got != want {
			t.Errorf("%s: %v, want %v", line, got, want)
		}
	}
}
