//go:build unix

package permission_test

import (
	"strings"
	"testing"

	"github.com/adze-dev/adze/permission/shell/bash"
)

// bashGen makes up lines of bash from a grammar that is rich in what readers of bash get wrong.
type bashGen struct {
	*lineGen
	depth int
}

func newBashGen(t testing.TB, seed uint64) *bashGen {
	return &bashGen{lineGen: newSpeaker(t, seed)}
}

// line makes up one line.
func (s *bashGen) line() string {
	s.depth = 0
	var line string
	switch s.IntN(10) {
	case 0:
		return s.say()
	case 1:
		line = pick(s.lineGen, s.attacks)
	case 2, 3, 4:
		line = s.innocent()
	default:
		line = s.list()
	}
	if s.IntN(6) == 0 { // bash writes these again before it runs them
		around := pick(s.lineGen, [][2]string{{`echo "$(`, `)"`}, {"echo $(", "\n)"}, {"x=$( ", ")"}, {"cat <(", ")"}, {`[ "$(`, `)" = a ]`}, {"echo `", "`"}, {`echo "$(ls; `, "\n)\""}})
		line = around[0] + line + around[1]
	}
	if s.IntN(3) > 0 {
		return line
	}
	for range 1 + s.IntN(3) {
		line = s.disturb(line)
	}
	return line
}

// disturb puts something small anywhere, or takes it away.
func (s *bashGen) disturb(line string) string {
	at := s.IntN(len(line) + 1)
	switch s.IntN(5) {
	case 0:
		return line[:at] + line[min(len(line), at+1+s.IntN(2)):]
	case 1, 2:
		return line[:at] + "\\\n" + line[at:]
	case 3:
		end := min(len(line), at+s.IntN(6))
		return line[:at] + pick(s.lineGen, disturbances) + line[end:]
	}
	return line[:at] + pick(s.lineGen, disturbances) + line[at:]
}

var disturbances = []string{
	"'", `"`, "`", "\\", "$", "#", " #", " #\\\n", "\n#'\n", " # x\\\nrun1 z\n", " #\\\nrun2 z\n", "\n", "\t", "\r", "\r\n", ";", "&", "|", "!", "{", "}", "(", ")", "[", "]", "~", "=", "<", ">", "*", "?", ",", "..", "''", `""`, "$'", `$"`, "\x00", "\xff", "\u00a0", "é",
	"<<E\n", "\nE\n", "<<-E\n", "\n\tE\n", "$(", "${", "((", "))", "[[", "]]", ";;", "&&", "||", "|&", ">&", "<&", "<>", "&>", ">|", "<(", "{fd}", "2", "-", "--", "@(", "!(", "do", "done", "in", "esac", "fi", "then", "time ", "if ", "$((",
}

// some gives one of several makers the word; where it is deep enough already, the first.
func (s *bashGen) some(makers ...func() string) string {
	s.depth++
	defer func() { s.depth-- }()
	if s.depth > 7 {
		return makers[0]()
	}
	return makers[s.IntN(len(makers))]()
}

func (s *bashGen) one(from string) string { return pick(s.lineGen, strings.Split(from, " ")) }

// list is commands in a row.
func (s *bashGen) list() string {
	var b strings.Builder
	for i := range 1 + s.IntN(3) {
		if i > 0 {
			b.WriteString(pick(s.lineGen, []string{"; ", " && ", " || ", " | ", " & ", "\n", " |& ", ";", "\n\n", " # x\n", " #'\n", "&&\n", "|\\\n", " ; # \"\n"}))
		}
		b.WriteString(s.some(s.simple, s.simple, s.simple, s.simple, s.compound, s.wrapped, s.document, s.setting))
	}
	return b.String()
}

// innocent is what may well run unasked, so that what is proved is tried too.
func (s *bashGen) innocent() string {
	form := pick(s.lineGen, []string{
		"ls ~", "cat ~ ~", "echo ~ ~", "head -n 3 ~", "grep -n ~ ~", "wc -l ~", "sort ~ | uniq -c", "printf '%s\\n' ~", "test ~ = ~", "[ -f ~ ] && cat ~", "[ ~ = ~ ]", "stat ~", "git log ~", "git diff -- ~", "find ~ -name ~", "cut -d ~ -f 1 ~", "tr ~ ~", "sed -n ~ ~", "diff ~ ~",
		"cd ~ && cat ~", "cd ~; ls ~", "cd ~ || ls", "(cd ~ && cat ~); cat ~", "{ cd ~; cat ~; }; cat ~", "if cd ~; then cat ~; fi; cat ~", "cd ~ | cat ~; cat ~", "! cd ~ && cat ~", "cd ~ & cat ~", "for d in ~ ~; do cd $d && cat ~; done; cat ~", "time cd ~; cat ~", "cd ~ && cd ~ && cat ~ < ~",
		"for f in ~ ~; do cat $f; done", `for f in ~ ~; do echo "$f" ~; done; ls $f`, "x=~; cat $x", `x=~; cat "$x"~`, "x=~ y=~; cat $x$y", "x=~; x=~; ls $x{a,b}", "x=~; cat ${x}~ < $x", "x=~ && ls $x || ls ~$x", "x=~; for f in $x ~; do wc $f; done", "x=~ | cat $x", "(x=~); cat $x", "x=$((1+2)); head -n $x ~", "x=~; [ \"$x\" = ~ ] && ls $x", "x=~; [[ $x == ~ ]] && cat $x",
		`echo "$(ls ~)"`, `echo "$(cat ~)" ~`, "echo $(wc -l < ~)", "echo `ls ~`", `x=$(ls ~); echo "$x"`, `printf '%s' "$(ls ~; cat ~)"`, `[ "$(cat ~)" = ~ ] && ls`, "diff <(sort ~) <(sort ~)", "comm -12 <(sort ~) ~", "cat < ~", "cat ~ 2>/dev/null", "ls ~ 2>&1 | head", "cat <<E\n~ $x\nE\nls ~", "cat <<'E'\n~\nE", "cat <<< ~",
		"while read -r x; do echo \"$x\" ~; done < ~", "ls | while read x; do echo $x ~; done", "ls ~ | xargs cat", "find . -name ~ -exec cat {} +", "find ~ -exec grep -n ~ {} \\;", "case ~ in ~) ls ~;; *) cat ~;; esac", "set -e; ls ~", "if [ -d ~ ]; then ls ~; else cat ~; fi", "true && ls ~ || cat ~", "command ls ~", "timeout 5 cat ~", "nice ls ~", "LC_ALL=C ls ~", "[[ -f ~ ]] && cat ~", "for i in {1..3}; do echo $i ~; done", "until [ -f ~ ]; do ls ~; break; done", "ls ~ # ~\ncat ~", "ls \\\n~",
	})
	var b strings.Builder
	for i := range len(form) {
		if form[i] != '~' {
			b.WriteByte(form[i])
			continue
		}
		for range 1 + s.IntN(2) {
			b.WriteString(s.some(s.plainPiece, s.plainPiece, s.plainPiece, s.quoted, s.braced, s.escaped, s.glob, s.tilde, s.parameter))
		}
	}
	return b.String()
}

// simple is a simple command.
func (s *bashGen) simple() string {
	var parts []string
	for s.IntN(8) == 0 {
		parts = append(parts, s.one("x y LC_ALL IFS A HOME CDPATH PATH x[1] x[y] LANG")+s.one("= = = +=")+s.some(s.piece, s.value))
	}
	parts = append(parts, s.name())
	for range s.IntN(4) {
		parts = append(parts, s.word())
	}
	for s.IntN(5) == 0 {
		parts = append(parts, s.redirection())
	}
	return strings.Join(parts, s.one("  ")+pick(s.lineGen, []string{" ", " ", " ", "\t", " \\\n", "  "}))
}

func (s *bashGen) name() string {
	name := s.one("ls cat echo printf grep head wc sort run1 run2 touch true false : test [ git ls cat echo run1 foo cd stat ls cat echo printf head wc run1 run2 touch ./evil.sh if then { ! time done in [[")
	switch s.IntN(12) {
	case 0:
		return `\` + name
	case 1:
		return name[:1] + `''` + name[1:]
	case 2:
		return `"` + name + `"`
	case 3:
		return name[:1] + "\\\n" + name[1:]
	case 4:
		return "{" + name + "," + s.piece() + "}"
	case 5:
		return s.piece()
	}
	return name
}

func (s *bashGen) word() string {
	var b strings.Builder
	for range 1 + s.IntN(2) + s.IntN(2) {
		b.WriteString(s.piece())
	}
	return b.String()
}

// plainPiece is a piece of a word that means itself, or nearly.
func (s *bashGen) plainPiece() string {
	return s.one("a b x 1 3 -n -l -c README.md a.txt src src/a.txt .. . / = : , -- - % + @ ^ ] # a#b ! !x }  é a,b 1..3 if do E")
}

// piece is a piece of a word.
func (s *bashGen) piece() string {
	return s.some(s.plainPiece, s.plainPiece, s.plainPiece, s.quoted, s.quoted, s.braced, s.tilde, s.glob, s.parameter, s.substitution, s.escaped)
}

func (s *bashGen) escaped() string {
	return `\` + pick(s.lineGen, []string{"a", " ", "\\", "'", `"`, "$", "`", "*", "{", "}", ",", "~", "#", "\n", "\t", "(", ";", "n", "!", "é", "."})
}

func (s *bashGen) quoted() string {
	text := pick(s.lineGen, []string{"", "a", "a b", "3", "x;y", "*", "$x", "a\\b", "{a,b}", "~", "\\", "-n", "#", "\n", "\\\n", "$(run1)", "`run2`", "\t", "a\\\nb", "!", "é", "${x}", "1..3", ",", "=", "$", "a$", "\\$x", "\\\\", "\\`x\\`", "${x:-'a b'}", "${x:-\"a\"}", "${x#'}'}", "$'a'", "\\n"})
	switch s.IntN(5) {
	case 0, 1:
		return "'" + text + "'"
	case 2, 3:
		return `"` + text + `"`
	}
	return "$" + pick(s.lineGen, []string{"'" + text + "'", `"` + text + `"`, `'\x41'`, `'\101'`, `'\u00e9'`, `'\u41'`, `'\ca'`, `'\''`, `'\e'`, `'a\0b'`, `'\x'`, `'\8'`, `'\1012'`, `'\x411'`, `'\"'`, `'\?'`, `'\x{41}'`, `'\U0001F600'`, `'a\x0'`, `'\q'`, `'\xff'`, `'\c\\'`, `'\c'\'`})
}

func (s *bashGen) braced() string {
	switch s.IntN(4) {
	case 0:
		return pick(s.lineGen, []string{"{1..3}", "{a..c}", "{1..7..3}", "{3..1}", "{01..3}", "{1..1}", "{a..e..2}", "{1..'3'}", "{1..$x}", "{-1..1}", "{1..3", "{a..1}", "{,}", "{}", "{a}", "{a,b", "{a,{b,c}}", "{{a,b}", "{a,b}}", "${x}{a,b}", "$x{a,b}", "{a,$x}b", "{$(run1),a}", "{a,b}{c,d}", "{a\\,b}", "{\"a,b\",c}", "{a,b\\}", "{a, b}", "{~,a}", "{a,~/b}", "x{,y}", "{1..2}{a,b}", "{a,b}..{c,d}", "{'1'..3}", "{1..3}''", "{a,}{,b}", "{,a}{}", "a{b}c,d}", "{a}{b,c}", "{a..b}{a,b}", "{'',a}", "{a,\\\nb}", "{$'a',b}", "{*,a}", "{+1..2}", "{1...3}", "{0x1..3}"})
	}
	return "{" + s.piece() + "," + s.piece() + "}"
}

func (s *bashGen) tilde() string {
	return s.one("~ ~/ ~/a ~+ ~- ~root ~me/x a=~ a:~ ~'' ''~ \\~ ~a =~/x x=~/y:~/z ~1 ~+1")
}

func (s *bashGen) glob() string {
	return s.one("* *.txt a* src/* ? [ab]* a?txt [!a]* [a-c]*.txt \\* *\\* '*' \"*\".txt [ a[ [] []] [a [a]]* ** {a,b}.* ./* -* *n @(a|b) !(a) +(x) ?(x) *(a) [[:alpha:]]* [']']* .* \\[a] a.tx[t")
}

func (s *bashGen) parameter() string {
	return s.one(`$x ${x} "$x" "${x}" $HOME "$HOME" ${HOME} $y $# $? $$ $@ "$@" $* $0 $1 ${x:-a} ${x:=a} ${x:+a} ${#x} ${x#a} ${x%b} ${x/a/b} ${x^^} ${!x} ${!x*} ${x@Q} ${x@P} ${x[0]} ${x[@]} ${x:1} $- $_ $PWD "$PWD" $OLDPWD $RANDOM $10 ${10} $xa ${x}a ${x-a} $((1+2)) $((x)) $((x=1)) $[1+2] $((2#10)) $(( (1) )) "$((1))" ${x:-~} ${x:-{a,b}} "${x:-*}" $BASHPID $LINENO`)
}

func (s *bashGen) substitution() string {
	inner := s.some(s.simple, s.list)
	switch s.IntN(7) {
	case 0:
		return "`" + strings.ReplaceAll(inner, "`", "\\`") + "`"
	case 1:
		return `"$(` + inner + `)"`
	case 2:
		return "<(" + inner + ")"
	case 3:
		return "$(<a.txt)"
	case 4:
		return `"` + "`" + inner + "`" + `"`
	}
	return "$(" + inner + ")"
}

// value is what a variable is given.
func (s *bashGen) value() string {
	return s.one("a b 1 3 src 'a b' * ~ ~/a (a b) ([1]=a) $x $(run1) \"\" '' a:b -n a.txt 'x[$(run1)]' .. {a,b} 'x*' \"a$y\" $'a' 'a\\b' +1 x=y")
}

// setting changes the shell, or what variables say.
func (s *bashGen) setting() string {
	switch s.IntN(4) {
	case 0, 1:
		return s.one("x y d F IFS x+ x[1] CDPATH HOME PATH BASH_ENV") + "=" + s.value()
	case 2:
		return "cd " + s.one("src .. link docs /tmp src/.. link/.. - ~ -P -- -L nowhere . '' \"src\" $x ./src src/../docs /home/me/app/link")
	}
	return pick(s.lineGen, []string{
		"set -- a b", "shift", "set -f", "set +B", "set -o posix", "shopt -s nullglob", "shopt -s extglob", "shopt -s lastpipe", "shopt -s dotglob", "shopt -s expand_aliases", "alias ls=run1", "set -e", "set -u", "set -k", "set -a", "set +o braceexpand",
		"export x=a", "export HOME=/tmp", "declare x=a", "declare -n x=y", "declare -i x=1+1", "declare -a x=(a b)", "readonly x", "local x=1", "typeset -u x=a", "unset x", "read x <<< a", "read -r x y < a.txt", "mapfile -t x < a.txt", "printf -v x a", "let x=1", "((x=1))", ": ${x:=a}",
		"pushd src", "popd", "trap 'run1 t' EXIT", "trap 'run2 d' DEBUG", "exec 3>w", "exec > w", "exec < a.txt", "wait", "umask 077", "getopts a x -a", "enable -n cd", "unalias -a", "shopt -s failglob", "set -C", "IFS=,", "unset IFS", "HISTFILE=w", "exit", "return", "break", "false", "set -n", "OLDPWD=/tmp", "hash -p /usr/bin/run1 ls", "unset PATH", "exec -a z run1 y", "times",
	})
}

func (s *bashGen) redirection() string {
	op := s.one("> >> < <> >| 2> &> &>> >& <& 2>&1 1>&2 >&- 3< {fd}> {fd}< 2>> 10> <<< 9<> >&2-")
	if strings.HasSuffix(op, "1") || strings.HasSuffix(op, "-") || op == "1>&2" {
		return op
	}
	return op + s.one(" ")[:0] + pick(s.lineGen, []string{"", " ", "\\\n"}) + s.some(s.target, s.target, s.word)
}

func (s *bashGen) target() string {
	return s.one(`w w2 /dev/null src/w link/w ../w "w" 'w x' w\ x $'w' ~/w a.txt README.md w{1..1} w{a,} $x w$x ./w docs/../w 1 2 - 1- w* a.t?t {w,} "$x"w W''W /dev/stdout /dev/fd/1 w# =w {a,b}`)
}

// compound is a compound command.
func (s *bashGen) compound() string {
	body := s.list
	form := pick(s.lineGen, []string{
		"( % )", "{ %; }", "if %; then %; fi", "if %\nthen %\nelse %\nfi", "if %; then %; elif %; then %; fi", "for x in ~ ~; do %; done", "for x in ~; do %; break; done", "for d in src docs; do %; done", "for f in a.txt b.txt; do cat $f; %; done", "for x; do %; done", "while %; do %; break; done", "until %; do %; done",
		"case ~ in ~) %;; esac", "case ~ in (~|~) % ;; *) % ;& x) %;; esac", "case a in\nesac", "case x in x) % esac", "[[ ~ == ~ ]]", "[[ -f ~ && ~ != ~ ]]", "[[ ~ =~ (a|b) ]]", "[[ ~ -eq 1 ]]", "((1+1))", "(( x = 1 ))", "((%); %)", "$((%) )", "for ((i=0;i<2;i++)); do %; done", "for x in a b; { %; }", "select x in a; do %; break; done < a.txt",
		"f() { %; }; f ~", "f() ( % )\nf", "function f { %; }; f", "function f() { %; } > w; f", "ls() { %; }; ls ~", "f() if %; then %; fi; f", "! %", "! ! %", "time %", "time -p %", "time -- %", "coproc %", "coproc { %; }", "coproc X { %; }", "{ %; } > w", "( % ) 2>&1 | %", "{ %\n} <a.txt", "if %; then %; fi > w", "while read x; do %; done < a.txt", "% | while read x; do %; done",
		"{ % }", "(%)&", "{ %; }&", "! { %; }", "!(%)", "! (%)", "time ( % )", "for x in ~ # a\ndo %\ndone", "if ! %; then %; fi", "case $x in\na) %\n;;\nesac", "for\\\n x in a; do %; done", "f () { %; }\nf", "x=(~ ~); %", "x[~]=1; %", "if [ ~ = ~ ]; then %; fi", "[ ~ ] && %", "test ~ -a ~", "while false; do %; done; %", "eval() { :; }; %", "exec() { %; }; exec ~", "[[ ~ ]] > w", "cd src && { %; }", "(cd src; %)", "{ cd src; %; } | %", "cd src | %; %", "for i in 1 2; do %; cd ..; done; %",
	})
	var b strings.Builder
	for i := range len(form) {
		switch form[i] {
		case '%':
			b.WriteString(s.some(s.simple, s.simple, body))
		case '~':
			b.WriteString(s.word())
		default:
			b.WriteByte(form[i])
		}
	}
	return b.String()
}

// wrapped is a command that another one runs.
func (s *bashGen) wrapped() string {
	text := s.some(s.simple, s.list)
	words := s.one("run1 run2 touch") + " " + s.word() + s.one("  ") + s.word()
	return pick(s.lineGen, []string{
		"eval " + bash.Quote(text), "eval " + text, "bash -c " + bash.Quote(text), "bash -c " + bash.Quote(words) + " a b", "sh -c " + bash.Quote("run1 a"), "env " + words, "env x=1 " + words, "env -S " + bash.Quote("run1 a b"), "env -u x -i " + words, "command " + words, "command -p " + words, "exec " + words, "builtin eval " + bash.Quote(text),
		"trap " + bash.Quote(text) + " EXIT", "echo a b | xargs " + words, "echo a | xargs -I{} run1 {} b", "find . -maxdepth 0 -exec " + words + " {} \\;", "find a.txt -exec run1 {} +", "timeout 5 " + words, "nice -n 5 " + words, "nohup " + words, "source /dev/stdin <<< " + bash.Quote(text), "bash <<< " + bash.Quote(text), "echo " + bash.Quote(text) + " | bash", "bash -s <<'E'\n" + text + "\nE\n",
		"bash -xc " + bash.Quote(text), "bash -O extglob -c " + bash.Quote(text), "bash --norc -c " + bash.Quote(text), "env bash -c " + bash.Quote(text), "command -v " + s.word(), "exec -a z " + words, ". ./list", "env -C src " + words, "time -p env " + words, "\\eval " + bash.Quote(text), "xargs -a list", "env -- " + words, "eval eval " + bash.Quote(text), "alias z=run1; z",
	})
}

// document is a command with a here-document.
func (s *bashGen) document() string {
	delimiter := pick(s.lineGen, []string{"E", "E", "EOF", "'E'", `"E"`, `\E`, "E\\\nF", "'E F'", "$E", "E''", `"E\"`, "-", "E)", "`E`", "$(E)", "{a,b}", "E#", "''", "$'E'", "~", "!"})
	end := strings.NewReplacer("'", "", `"`, "", "\\\n", "", `\`, "").Replace(delimiter)
	var b strings.Builder
	b.WriteString(s.name() + " " + s.one("<< <<- << <<") + pick(s.lineGen, []string{"", "", " "}) + delimiter)
	b.WriteString(pick(s.lineGen, []string{"", "", " | " + s.simple(), "; " + s.simple(), " && {", " <<F", " > w", " # x", " \\\n x", " &"}))
	b.WriteString("\n")
	for range s.IntN(4) {
		b.WriteString(pick(s.lineGen, []string{"a", "$x", "$(run1 d)", "`run2`", "\\", "E\\", end, "\t" + end, end + " ", " " + end, "\\" + end, "'", `"`, "$(", "${x", "a\\", "a\\\\", end + "\\", "F", "\\$(run1)", "run1 q", "}", end + ")", "E", "", "${x:-$(run1)}", "$((1))", "\t\\", "a\r"}) + "\n")
	}
	b.WriteString(pick(s.lineGen, []string{end, end, end, "\t" + end, "", end + "\nF\n}"}) + "\n")
	b.WriteString(s.simple())
	doc := b.String()
	switch s.IntN(8) {
	case 0:
		return "echo $(" + doc + "\n)"
	case 1:
		return "( " + doc + " )"
	case 2:
		return "echo `" + doc + "`"
	case 3:
		return "bash -c " + bash.Quote(doc)
	}
	return doc
}
