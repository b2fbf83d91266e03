package permission_test

import "testing"

// shapes are one of every thing that bash's grammar has.
var shapes = []string{
	"ls a", "ls a | cat b", "ls && cat b", "if ls; then cat; elif x; then y; else z; fi", "for x in a b; do ls; done", "for x\ndo ls\ndone",
	"while ls; do cat; break; done", "case a in a) ls;; b|c) cat;; esac", "case a in\n(a) ls\n;;\nesac", "f() { ls; }; f", "function f { ls; }\nf",
	"( ls )", "{ ls; }", "! ls", "time ls", "time -p ls", "[[ a = b && c = d ]]", "[[ ( a ) ]]", "(( 1 + 1 ))", "x=(a b) ls", "x=( a\nb )",
	"select x in a; do ls; done <a.txt", "until ls; do cat; done", "for ((i=0;i<1;i++)); do ls; done", "ls > /dev/null 2>&1", "ls <<E\na\nE\ncat",
	"echo $(ls) $(cat; wc)", "echo \"$(ls)\" b", "echo `ls a`", "cat <(ls) <(cat)", "x=1 y=2 ls", "export x=1 y=2", "declare -a x=(a b)", "ls; cat & wc",
	"ls ||\ncat", "ls |\ncat", "coproc ls", "coproc { ls; }", "ls a {b,c} 'd' \"e\" $'f'", "let x=1+1", "echo $((1+1)) ${x:-a}", "f()\n{ ls; }",
	"if ls\nthen cat\nfi", "eval ls", "{ ls\n} > w", "exec 3< a.txt", "ls &", "ls &\ncat", "a=$(ls;\ncat)", "for x in a; { ls; }",
}

// wedges are what readers of bash get wrong in one place and not in another: comments, joined lines, empty quotes.
var wedges = []string{
	" #\\\nrun2 z\n", "#\\\nrun2 z\n", " # x\\\nrun2 z\n", "\\\n#x\nrun2\n", " \\\n#\\\nrun2\n", " #`\nrun2 `\n", " #'\nrun2 '\n", "\n#\\\\\nrun2\n",
	"#)\nrun2\n", " # )\nrun2 z\n", "\\\n", "''#;run2 z\n", "\"\"#;run2 z\n", "&\\\n>w ", "2\\\n>w ", "''\\\n#;run2\n", "$x#;run2\n", "$'a'#;run2\n",
}

// Each wedge is driven into every place of every shape. A comment behind coproc that ends in a backslash was the one that
// the parser does not tell of.
func TestReadingIsBashInEveryPlace(t *testing.T) {
	t.Parallel()
	l := newListener(t, startBoxAs(t, recorderVariable))
	every, n := oneIn(25), 0
	for _, w := range wedges {
		for _, s := range shapes {
			for i := range len(s) + 1 {
				if n++; n%every != 0 {
					continue
				}
				if line := s[:i] + w + s[i:]; l.compare(t, line, languages[0]) != "" {
					t.Errorf("%q: %s", line, l.compare(t, line, languages[0]))
				}
			}
		}
	}
	t.Logf("%d lines, %d of them not read, %d calls by bash", l.counts.lines, l.counts.unread, l.counts.calls)
}
