package bashlab

import "strings"

// grammar are the forms of each part of a line. «name» in a form is a part of that name; a form that is listed twice is
// made twice as often. Parts that aren't here are made by Generator.part.
var grammar = map[string][]string{
	// Syntax: all that readers of bash get wrong.
	"syntax": {"«line»", "«line»", "«line»", "«line»", "«line»", "«substituted»"},
	"line":   {"«list»", "«list»", "«list»", "«list»", "«literals»", "«flow line»", "«quirk»", "«innocent»", "«innocent»", "«innocent»", "«example»", "«attack»"},
	"quirk": { // what bash and other parsers, or versions of bash, read differently
		"ls \\\r\nrun1 «word»", "run1\r", "ls # \\\nrun1 «word»", "echo $(ls ''#; run1 «word»\n)", "run1 $\\\n«expanded»", "echo `run1 '\\\n'`", "echo `run1 \\«escapable» `", "cat <<E\n\\\nE\nrun1 «word»\nE", "cat <<E#\nE\\\n#\nrun1 «word»\nE#",
		"echo $(cat <<E\nE)\nrun1 «word»\nE\n)", "echo $(<<E\nE\nsort;run1 «word»)", "echo $(cat <<E\n«text»\nE\nsort;run1 «word»)", "diff <(cat <<E\n«text»\nE\nsort; run1 «word») y", "run1 &\\\n>«target» a", "run1 2\\\n>«target»", "run1 >\\\n\\\n&«target»",
		"(''\\\n#«word»\n)", "ls | time run1 «word»", "run1 @(a|«plain»)", "!(run1 «word»)", "[[ a = @($(run1 «word»)) ]]", "run1 >&'$(run1 «word»)'", "run1 >&-«plain»", "run1 <&-«plain»", "run1 <() «word»", "run1 \"`echo \"{a,«plain»}\"`\"", "coproc run1 «word»", "time -- run1 «word»",
		"cd src || cd docs; run1", "cd nowhere && cd src; run1", "cd link/../docs && run1", "cd src/far/../docs && run1", "cd src/far && cd ../«directory» && run1 «plain»", "cd src/far/.. && run1 < ../a.txt", "cd src && false || run1", "[[ x[$(run1)] -eq 1 ]]", "x='a[$(run1)]'; ((x))", "x='y[$(run1 «word»)]'; [[ $x -gt 1 ]]", "x=«word»; run1 $x", "{ run1; } > «target»",
		"cat <<E\n${x:-'$(run1 «plain»)'}\nE", "ls {a['$(run1 «plain»)']}>/dev/null", "ls ${x[$y]:-'$(run1 «plain»)'}", "echo \"${x:-'$(run1 «plain»)'}\"", "test -v 'x[$(run1 «plain»)]'", "printf -v 'x[$(run1)]' a",
		"run1 «braces»«braces»", "run1 «plain»«braces»«plain»", "run1 $HOME{«plain»,«plain»}", "run1 {«plain»}{«plain»,«plain»}", "run1 {«plain»,«plain»}«plain»}",
	},
	"expanded":    {"HOME/«plain»", "x", "(run2)", "{x}", "'«text»'"},
	"example":     {"«frame»", "«harmless»"},
	"literals":    {"run1 «literal»", "run1 «literal»«literal» «literal»", "for x in «literal»; do run1 $x; done", "x=«literal»; run1 \"$x\"«literal»", "run1 < «literal»", "cd «literal» && run1", "bash -c «quote literals»"},
	"literal":     {"«quoted»", "«quoted»", "«escaped»", "«braced»", "«plain»", "«tilde»"},
	"substituted": {`echo "$(«line»)"`, "echo $(«line»\n)", "x=$( «line»)", "cat <(«line»)", `[ "$(«line»)" = a ]`, "echo `«line»`", "echo \"$(ls; «line»\n)\""}, // bash prints and reads these again before it runs them
	"list":        {"«statement»", "«statement»«join»«statement»", "«statement»«join»«statement»«join»«statement»"},
	"join":        {"; ", " && ", " || ", " | ", " & ", "\n", " |& ", ";", "\n\n", " # x\n", " #'\n", "&&\n", "|\\\n", " ; # \"\n"},
	"statement":   {"«simple»", "«simple»", "«simple»", "«simple»", "«compound»", "«wrapped»", "«document»", "«setting»"},
	"commands":    {"«simple»", "«list»"},
	"body":        {"«simple»", "«simple»", "«list»"},

	"simple":       {"«assignments»«name»«words»«redirections»"},
	"assignments":  {"", "", "", "", "", "", "", "«assignment»«gap»«assignments»"},
	"assignment":   {"«variable»=«word»", "«variable»=«value»", "«variable»+=«value»"},
	"variable":     strings.Fields("x y LC_ALL IFS A HOME CDPATH PATH x[1] x[y] LANG"),
	"value":        strings.Fields("a b 1 3 src 'a b' * ~ ~/a (a b) ([1]=a) $x $(run1) \"\" '' a:b -n a.txt 'x[$(run1)]' .. {a,b} 'x*' \"a$y\" $'a' 'a\\b' +1 x=y"),
	"name":         {"«program»", "«program»", "«program»", "«program»", "«program»", "«program»", "«program»", "«spell program»", "«spell program»", "«spell program»", "{«program»,«piece»}", "«piece»"},
	"program":      strings.Fields("ls cat echo printf grep head wc sort run1 run2 touch true false : test [ git ls cat echo run1 foo cd stat ls cat echo printf head wc run1 run2 touch ./evil.sh if then { ! time done in [["),
	"words":        {"", "«gap»«word»", "«gap»«word»«gap»«word»", "«gap»«word»«gap»«word»«gap»«word»"},
	"gap":          {" ", " ", " ", "\t", " \\\n", "  "},
	"redirections": {"", "", "", "", "«gap»«redirection»«redirections»"},

	"word":           {"«piece»", "«piece»«piece»", "«piece»«piece»", "«piece»«piece»«piece»"},
	"piece":          {"«plain»", "«plain»", "«plain»", "«quoted»", "«quoted»", "«braced»", "«tilde»", "«glob»", "«parameter»", "«substitution»", "«escaped»"},
	"argument":       {"«harmless piece»", "«harmless piece»«harmless piece»"},
	"harmless piece": {"«plain»", "«plain»", "«plain»", "«quoted»", "«braced»", "«escaped»", "«glob»", "«tilde»", "«parameter»"},
	"plain":          strings.Fields("a b x 1 3 -n -l -c README.md a.txt src src/a.txt .. . / = : , -- - % + @ ^ ] # a#b ! !x }  é a,b 1..3 if do E"),
	"escaped":        {`\«escapable»`},
	"escapable":      {"a", " ", "\\", "'", `"`, "$", "`", "*", "{", "}", ",", "~", "#", "\n", "\t", "(", ";", "n", "!", "é", "."},
	"quoted":         {"'«text»'", "'«text»'", `"«text»"`, `"«text»"`, "$«ansi»"},
	"text":           {"", "a", "a b", "3", "x;y", "*", "$x", "a\\b", "{a,b}", "~", "\\", "-n", "#", "\n", "\\\n", "$(run1)", "`run2`", "\t", "a\\\nb", "!", "é", "${x}", "1..3", ",", "=", "$", "a$", "\\$x", "\\\\", "\\`x\\`", "${x:-'a b'}", "${x:-\"a\"}", "${x#'}'}", "$'a'", "\\n"},
	"ansi":           {"'«text»'", `"«text»"`, `'\x41'`, `'\101'`, `'\u00e9'`, `'\u41'`, `'\ca'`, `'\''`, `'\e'`, `'a\0b'`, `'\x'`, `'\8'`, `'\1012'`, `'\x411'`, `'\"'`, `'\?'`, `'\x{41}'`, `'\U0001F600'`, `'a\x0'`, `'\q'`, `'\xff'`, `'\c\\'`, `'\c'\'`},
	"braced":         {"«braces»", "{«piece»,«piece»}", "{«piece»,«piece»}", "{«piece»,«piece»}"},
	"braces":         {"{1..3}", "{a..c}", "{1..7..3}", "{3..1}", "{01..3}", "{1..1}", "{a..e..2}", "{1..'3'}", "{1..$x}", "{-1..1}", "{1..3", "{a..1}", "{,}", "{}", "{a}", "{a,b", "{a,{b,c}}", "{{a,b}", "{a,b}}", "${x}{a,b}", "$x{a,b}", "{a,$x}b", "{$(run1),a}", "{a,b}{c,d}", "{a\\,b}", "{\"a,b\",c}", "{a,b\\}", "{a, b}", "{~,a}", "{a,~/b}", "x{,y}", "{1..2}{a,b}", "{a,b}..{c,d}", "{'1'..3}", "{1..3}''", "{a,}{,b}", "{,a}{}", "a{b}c,d}", "{a}{b,c}", "{a..b}{a,b}", "{'',a}", "{a,\\\nb}", "{$'a',b}", "{*,a}", "{+1..2}", "{1...3}", "{0x1..3}"},
	"tilde":          strings.Fields("~ ~/ ~/a ~+ ~- ~root ~me/x a=~ a:~ ~'' ''~ \\~ ~a =~/x x=~/y:~/z ~1 ~+1"),
	"glob":           strings.Fields("* *.txt a* src/* ? [ab]* a?txt [!a]* [a-c]*.txt \\* *\\* '*' \"*\".txt [ a[ [] []] [a [a]]* ** {a,b}.* ./* -* *n @(a|b) !(a) +(x) ?(x) *(a) [[:alpha:]]* [']']* .* \\[a] a.tx[t"),
	"parameter":      strings.Fields(`$x ${x} "$x" "${x}" $HOME "$HOME" ${HOME} $y $# $? $$ $@ "$@" $* $0 $1 ${x:-a} ${x:=a} ${x:+a} ${#x} ${x#a} ${x%b} ${x/a/b} ${x^^} ${!x} ${!x*} ${x@Q} ${x@P} ${x[0]} ${x[@]} ${x:1} $- $_ $PWD "$PWD" $OLDPWD $RANDOM $10 ${10} $xa ${x}a ${x-a} $((1+2)) $((x)) $((x=1)) $[1+2] $((2#10)) $(( (1) )) "$((1))" ${x:-~} ${x:-{a,b}} "${x:-*}" $BASHPID $LINENO`),
	"substitution":   {"$(«commands»)", "$(«commands»)", "$(<a.txt)", "`«escape commands»`", `"$(«commands»)"`, "<(«commands»)", "\"`«commands»`\""},

	"redirection": {"2>&1", "1>&2", ">&-", ">&2-", "«open»«space»«target»", "«open»«space»«target»", "«open»«space»«word»"},
	"open":        strings.Fields("> >> < <> >| 2> &> &>> >& <& 2>&1 1>&2 >&- 3< {fd}> {fd}< 2>> 10> <<< 9<> >&2-"),
	"space":       {"", " ", "\\\n"},
	"target":      strings.Fields(`w w2 /dev/null src/w link/w ../w "w" 'w x' w\ x $'w' ~/w a.txt README.md w{1..1} w{a,} $x w$x ./w docs/../w 1 2 - 1- w* a.t?t {w,} "$x"w W''W /dev/stdout /dev/fd/1 w# =w {a,b}`),

	"compound": {
		"( «body» )", "{ «body»; }", "if «body»; then «body»; fi", "if «body»\nthen «body»\nelse «body»\nfi", "if «body»; then «body»; elif «body»; then «body»; fi", "for x in «word» «word»; do «body»; done", "for x in «word»; do «body»; break; done", "for d in src docs; do «body»; done", "for f in a.txt b.txt; do cat $f; «body»; done", "for x; do «body»; done", "while «body»; do «body»; break; done", "until «body»; do «body»; done",
		"case «word» in «word») «body»;; esac", "case «word» in («word»|«word») «body» ;; *) «body» ;& x) «body»;; esac", "case a in\nesac", "case x in x) «body» esac", "[[ «word» == «word» ]]", "[[ -f «word» && «word» != «word» ]]", "[[ «word» =«word» (a|b) ]]", "[[ «word» -eq 1 ]]", "((1+1))", "(( x = 1 ))", "((«body»); «body»)", "$((«body») )", "for ((i=0;i<2;i++)); do «body»; done", "for x in a b; { «body»; }", "select x in a; do «body»; break; done < a.txt",
		"f() { «body»; }; f «word»", "f() ( «body» )\nf", "function f { «body»; }; f", "function f() { «body»; } > w; f", "ls() { «body»; }; ls «word»", "f() if «body»; then «body»; fi; f", "! «body»", "! ! «body»", "time «body»", "time -p «body»", "time -- «body»", "coproc «body»", "coproc { «body»; }", "coproc X { «body»; }", "{ «body»; } > w", "( «body» ) 2>&1 | «body»", "{ «body»\n} <a.txt", "if «body»; then «body»; fi > w", "while read x; do «body»; done < a.txt", "«body» | while read x; do «body»; done",
		"{ «body» }", "(«body»)&", "{ «body»; }&", "! { «body»; }", "!(«body»)", "! («body»)", "time ( «body» )", "for x in «word» # a\ndo «body»\ndone", "if ! «body»; then «body»; fi", "case $x in\na) «body»\n;;\nesac", "for\\\n x in a; do «body»; done", "f () { «body»; }\nf", "x=(«word» «word»); «body»", "x[«word»]=1; «body»", "if [ «word» = «word» ]; then «body»; fi", "[ «word» ] && «body»", "test «word» -a «word»", "while false; do «body»; done; «body»", "eval() { :; }; «body»", "exec() { «body»; }; exec «word»", "[[ «word» ]] > w", "cd src && { «body»; }", "(cd src; «body»)", "{ cd src; «body»; } | «body»", "cd src | «body»; «body»", "for i in 1 2; do «body»; cd ..; done; «body»",
	},
	"setting":   {"«changed»=«value»", "«changed»=«value»", "cd «directory»", "«shell setting»"}, // of the shell, or a variable
	"changed":   strings.Fields("x y d F IFS x+ x[1] CDPATH HOME PATH BASH_ENV"),
	"directory": strings.Fields("src .. link docs src/far src/far/../docs /tmp src/.. link/.. - ~ -P -- -L nowhere . '' \"src\" $x ./src src/../docs /home/me/app/link"),
	"shell setting": {
		"set -- a b", "shift", "set -f", "set +B", "set -o posix", "shopt -s nullglob", "shopt -s extglob", "shopt -s lastpipe", "shopt -s dotglob", "shopt -s expand_aliases", "alias ls=run1", "set -e", "set -u", "set -k", "set -a", "set +o braceexpand",
		"export x=a", "export HOME=/tmp", "declare x=a", "declare -n x=y", "declare -i x=1+1", "declare -a x=(a b)", "readonly x", "local x=1", "typeset -u x=a", "unset x", "read x <<< a", "read -r x y < a.txt", "mapfile -t x < a.txt", "printf -v x a", "let x=1", "((x=1))", ": ${x:=a}",
		"pushd src", "popd", "trap 'run1 t' EXIT", "trap 'run2 d' DEBUG", "exec 3>w", "exec > w", "exec < a.txt", "wait", "umask 077", "getopts a x -a", "enable -n cd", "unalias -a", "shopt -s failglob", "set -C", "IFS=,", "unset IFS", "HISTFILE=w", "exit", "return", "break", "false", "set -n", "OLDPWD=/tmp", "hash -p /usr/bin/run1 ls", "unset PATH", "exec -a z run1 y", "times",
	},
	"run": {"run1 «word»«word»", "run2 «word»«word»", "touch «word»«word»"},
	"wrapped": { // a command that another one runs
		"eval «quote commands»", "eval «commands»", "bash -c «quote commands»", "bash -c «quote run» a b", "sh -c 'run1 a'", "env «run»", "env x=1 «run»", "env -S 'run1 a b'", "env -u x -i «run»", "command «run»", "command -p «run»", "exec «run»", "builtin eval «quote commands»",
		"trap «quote commands» EXIT", "echo a b | xargs «run»", "echo a | xargs -I{} run1 {} b", "find . -maxdepth 0 -exec «run» {} \\;", "find a.txt -exec run1 {} +", "timeout 5 «run»", "nice -n 5 «run»", "nohup «run»", "source /dev/stdin <<< «quote commands»", "bash <<< «quote commands»", "echo «quote commands» | bash", "bash -s <<'E'\n«commands»\nE\n",
		"bash -xc «quote commands»", "bash -O extglob -c «quote commands»", "bash --norc -c «quote commands»", "env bash -c «quote commands»", "command -v «word»", "exec -a z «run»", ". ./list", "env -C src «run»", "time -p env «run»", "\\eval «quote commands»", "xargs -a list", "env -- «run»", "eval eval «quote commands»", "alias z=run1; z",
	},
	"document":        {"«here»", "«here»", "«here»", "«here»", "echo $(«here»\n)", "( «here» )", "echo `«here»`", "bash -c «quote here»"},
	"document start":  {"«name» <<«document gap»", "«name» <<«document gap»", "«name» <<«document gap»", "«name» <<-«document gap»"},
	"document gap":    {"", "", " "},
	"delimiter":       {"E", "E", "EOF", "'E'", `"E"`, `\E`, "E\\\nF", "'E F'", "$E", "E''", `"E\"`, "-", "E)", "`E`", "$(E)", "{a,b}", "E#", "''", "$'E'", "~", "!"},
	"after delimiter": {"", "", " | «simple»", "; «simple»", " && {", " <<F", " > w", " # x", " \\\n x", " &"},
	"document lines":  {"", "«document line»\n", "«document line»\n«document line»\n", "«document line»\n«document line»\n«document line»\n"},
	"document line":   {"a", "$x", "$(run1 d)", "`run2`", "\\", "E\\", "«end»", "\t«end»", "«end» ", " «end»", "\\«end»", "'", `"`, "$(", "${x", "a\\", "a\\\\", "«end»\\", "F", "\\$(run1)", "run1 q", "}", "«end»)", "E", "", "${x:-$(run1)}", "$((1))", "\t\\", "a\r"},
	"document end":    {"«end»", "«end»", "«end»", "\t«end»", "", "«end»\nF\n}"},

	"innocent": { // what may well be read-only
		"ls «argument»", "cat «argument» «argument»", "echo «argument» «argument»", "head -n 3 «argument»", "grep -n «argument» «argument»", "wc -l «argument»", "sort «argument» | uniq -c", "printf '%s\\n' «argument»", "test «argument» = «argument»", "[ -f «argument» ] && cat «argument»", "[ «argument» = «argument» ]", "stat «argument»", "git log «argument»", "git diff -- «argument»", "find «argument» -name «argument»", "cut -d «argument» -f 1 «argument»", "tr «argument» «argument»", "sed -n «argument» «argument»", "diff «argument» «argument»",
		"cd «argument» && cat «argument»", "cd «argument»; ls «argument»", "cd «argument» || ls", "(cd «argument» && cat «argument»); cat «argument»", "{ cd «argument»; cat «argument»; }; cat «argument»", "if cd «argument»; then cat «argument»; fi; cat «argument»", "cd «argument» | cat «argument»; cat «argument»", "! cd «argument» && cat «argument»", "cd «argument» & cat «argument»", "for d in «argument» «argument»; do cd $d && cat «argument»; done; cat «argument»", "time cd «argument»; cat «argument»", "cd «argument» && cd «argument» && cat «argument» < «argument»",
		"for f in «argument» «argument»; do cat $f; done", `for f in «argument» «argument»; do echo "$f" «argument»; done; ls $f`, "x=«argument»; cat $x", `x=«argument»; cat "$x"«argument»`, "x=«argument» y=«argument»; cat $x$y", "x=«argument»; x=«argument»; ls $x{a,b}", "x=«argument»; cat ${x}«argument» < $x", "x=«argument» && ls $x || ls «argument»$x", "x=«argument»; for f in $x «argument»; do wc $f; done", "x=«argument» | cat $x", "(x=«argument»); cat $x", "x=$((1+2)); head -n $x «argument»", "x=«argument»; [ \"$x\" = «argument» ] && ls $x", "x=«argument»; [[ $x == «argument» ]] && cat $x",
		`echo "$(ls «argument»)"`, `echo "$(cat «argument»)" «argument»`, "echo $(wc -l < «argument»)", "echo `ls «argument»`", `x=$(ls «argument»); echo "$x"`, `printf '%s' "$(ls «argument»; cat «argument»)"`, `[ "$(cat «argument»)" = «argument» ] && ls`, "diff <(sort «argument») <(sort «argument»)", "comm -12 <(sort «argument») «argument»", "cat < «argument»", "cat «argument» 2>/dev/null", "ls «argument» 2>&1 | head", "cat <<E\n«argument» $x\nE\nls «argument»", "cat <<'E'\n«argument»\nE", "cat <<< «argument»",
		"while read -r x; do echo \"$x\" «argument»; done < «argument»", "ls | while read x; do echo $x «argument»; done", "ls «argument» | xargs cat", "find . -name «argument» -exec cat {} +", "find «argument» -exec grep -n «argument» {} \\;", "case «argument» in «argument») ls «argument»;; *) cat «argument»;; esac", "set -e; ls «argument»", "if [ -d «argument» ]; then ls «argument»; else cat «argument»; fi", "true && ls «argument» || cat «argument»", "command ls «argument»", "timeout 5 cat «argument»", "nice ls «argument»", "LC_ALL=C ls «argument»", "[[ -f «argument» ]] && cat «argument»", "for i in {1..3}; do echo $i «argument»; done", "until [ -f «argument» ]; do ls «argument»; break; done", "ls «argument» # «argument»\ncat «argument»", "ls \\\n«argument»",
	},

	// Commands: read-only programs with all their flags, and with operands that are traps.
	"frame": {
		"«call»", "«call»", "«call»", "«call»", "«call»«redirect»", "«call» | «call»", "«call» && «call»", "«call» || «call»«redirect»", "«call»; «call»", "«call»\n«call»", "«call» & «call»", "cd «operand» && «call»", "cd «operand»; «call»", "(cd «operand» && «call»)", "(«call»)«redirect»", "{ «call»; }«redirect»", "! «call»", "time «call»", "timeout 5 «call»", "command «call»", "nice «call»",
		"[[ -f «operand» ]]«redirect»", "[[ -f «operand» ]]«redirect» && «call»", "[ -f «operand» ]«redirect» && «call»", "test -d «operand» || «call»", "if «call»; then «call»; fi«redirect»", "if [[ -d «operand» ]]; then «call»; else «call»; fi", "case a in a) «call»;; *) «call»;; esac«redirect»", "case «operand» in esac«redirect»", "for f in «operand» «operand»; do «call»; done«redirect»",
		"for f in «operand»; do «call»«redirect»; done", "for f in *.txt; do «call»; done", "for i in 1 2; do «call»; done", "while false; do «call»; done«redirect»", "LC_ALL=C «call»", "f=«operand»; «call»", "f=«operand» && «call»; «call»", "find «operand» -name '*.md' -exec «call» {} \\;", "find «operand» -type f -exec «call» {} +",
		"find «operand» -name '*.go' | xargs «call»", "find «operand» -name '*.md' -print0 | xargs -0 «call»", "git ls-files «operand» | xargs «call»", "grep -rl a «operand» | xargs «call»", "«call» | xargs «call»", "while read -r f; do «call»; done < «operand»", "«call» | while read f; do «call»; done", "echo «operand» | xargs «call»",
		"xargs «call» < list", "git -C «operand» «call»", "cat <<EOF | «call»\n«operand»\nEOF\n", "[ -n «operand» ] && «call»", "[ «operand» = «operand» ]«redirect» && «call»", "[[ «operand» == «operand» ]] && «call»", "f=«operand»; for f in «operand»; do «call»; done; «call»",
	},
	"operand": {
		"README.md", "src", "src/main.go", ".", "*.go", "src/*", "*.txt", "*.md", "list", "@list", "-odd", "./-odd", "--output=x", "'a b'", ".env", "./.env", "src/../.env", "conf", "conf/*", "conf/.e*",
		"out", "out/notes.txt", "out/.ssh", "src/link", "src/inner", "src/lenv", "/etc/hosts", "~/notes.txt", "..", "../notes.txt", "*/../../notes.txt", "HEAD", "HEAD:README.md", "HEAD:.env", "main", "feature", "v1.0", "x", "y", "'*.md'", "'.e*'", "'*'",
		"{a.txt,b.txt}", "{a.txt,.env}", "--", "-", "1,5p", "'s/a/b/'", "'{print $1}'", "'{print > \"x\"}'", "'w x'", "p", "1", "5", "foo", "hello", "$HOME", "~", "$PWD", ":/", "':(top)'", "':!src'", "ls", "./evil.sh", "evil", "read", "recurse", "0",
		"'.a'", ".", "+%s", "-name", "-type", "f", "=", "-f", "]", "stash@{0}", "user.name", "get-url", "list", "show", "data.csv", "data.json", "big.txt", "a.txt b.txt", "src docs", "conf src", ". conf", "2", "\"$f\"", "$f", "$i", "{}", "'{}'",
	},
	"redirect": {"", "«call redirection»"},
	"call redirection": {
		" 2>/dev/null", " > /dev/null", " >/dev/null 2>&1", " < README.md", " > x", " 2>&1", " >&2", " <<< x", " < .env", " &> x", " >> x", " <> x", " 3> x", " 2>&1 > x", " <<EOF\nhi\nEOF\n", " <<'EOF'\n$(touch x)\nEOF\n", " < src/lenv", " >&x",
	},

	// Flow: lines in which it matters what ran before, so which variables are set and where the shell is.
	"flow": {"«step»", "«flow form»", "«flow form»"},
	"flow form": {
		"«flow»; «flow»", "«flow»; «flow»; «flow»", "«flow» && «flow»", "«flow» || «flow»", "«flow» && «flow» || «flow»", "«flow» || «flow» && «flow»", "«flow» | «flow»", "! «flow»; «flow»",
		"{ «flow»; }; «flow»", "{ «flow»; } < missing; «flow»", "{ «flow»; } < README.md; «flow»", "( «flow» ); «flow»", "{ «flow»; } & «flow»", "if «flow»; then «flow»; else «flow»; fi", "if «flow»; then «flow»; fi; «flow»",
		"if false; then «flow»; elif true; then «flow»; fi; «flow»", "for d in . a; do «flow»; «flow»; done", "for e in ..; do «flow»; done; «flow»", "for d in src/*; do «flow»; done", "while read d; do «flow»; done < list; «flow»",
		"until «flow»; do «flow»; break; done; «flow»", "case a in b) «flow»;; a) «flow»;; esac; «flow»", "case $d in .) «flow»;; *) «flow»;; esac", `echo "$(«flow»)"; «flow»`, "x=$(«flow»); «flow»", "cat <(«flow»); «flow»",
		"time { «flow»; }; «flow»", "«flow»\n«flow»",
	},
	"step": {
		"«set»=«set to»«missing»", "«set»=«set to»«missing»", "«set»=«set to»«missing»", "read «set»«input»", "read -r «set»«input»", "cd «flow directory»«missing»", "«flow test»", "«flow test»",
		"cat $«set»/home/me/notes.txt", "cat < $«set»/home/me/notes.txt", "grep a $«set»/home/me/notes.txt", // a file outside, if the variable isn't set
		"«show» «start»«end of path»", "«show» «start»«end of path»",
	},
	"set":            {"d", "e"},
	"set to":         {".", ".", ".", ".", "src", "src/", "''", "..", "$(true)", "$(echo .)", "x"},
	"missing":        {"", "", "", " < missing"},
	"input":          {"", " < list", " < missing", " <<< .", " < /dev/null"},
	"flow directory": strings.Fields(`src docs . nope src/deep $d .. "$e"`),
	"flow test":      {"true", "false", ":", "[ -f nope ]", "[[ a == a ]]", `[ -n "$d" ]`, `[ "$e" = . ]`, "break", "continue", "false", "set -u", "exit"},
	"show":           {"cat", "head -1", "cat <", "grep a", "ls", "wc -l <", "echo"},
	"start":          strings.Fields(`$d $e "$d" ${d} "$e" .. . ../.. $PWD $d$e`),
	"end of path":    {"/home/me/notes.txt", "/notes.txt", "/../notes.txt", "/.env", "env", "/*", "/me/notes.txt", "./notes.txt", ""},

	// Commands around a command; «inner» is the one inside.
	"nest": {
		"(«inner»)", "{ «inner»\n}", "ls; «inner»", "«inner»; ls", "ls && «inner»", "false || «inner»", "ls | «inner»", "«inner» | cat", "if true; then «inner»\nfi", "for f in a; do «inner»\ndone", "echo $(«inner»)", "echo \"$(«inner»)\"", "X=$(«inner»)",
		"f() { «inner»\n}", "while «inner»\ndo ls; done", "! «inner»", "cat <(«inner»)", "«inner» &", "# c\n«inner»", "case x in x) «inner»\n;; esac", "cd src && «inner»", "time «inner»",
	},

	// Changes to a line.
	"sign": {
		"'", `"`, "`", "\\", "$", "#", " #", " #\\\n", "\n#'\n", " # x\\\nrun1 z\n", " #\\\nrun2 z\n", "\n", "\t", "\r", "\r\n", ";", "&", "|", "!", "{", "}", "(", ")", "[", "]", "~", "=", "<", ">", "*", "?", ",", "..", "''", `""`, "$'", `$"`, "\x00", "\xff", "\u00a0", "é",
		"<<E\n", "\nE\n", "<<-E\n", "\n\tE\n", "$(", "${", "((", "))", "[[", "]]", ";;", "&&", "||", "|&", ">&", "<&", "<>", "&>", ">|", "<(", "{fd}", "2", "-", "--", "@(", "!(", "do", "done", "in", "esac", "fi", "then", "time ", "if ", "$((",
		" ", " ", " ", "; ", " && ", " || ", " | ", " & ", "\n", " #\n", " # x\\\n", "\\\n", " \\\n", ";", "|", "\t", "", "''", `""`, "\\", "'", `"`, " <<EOF\n", "\nEOF\n", " 2>&1 ", " > ", " < ", " >& ", " {", "} ", "(", ")", "$(", "`", "$'", "${", "~", "=", "-", "--", "!", "[", "]", "*", "?", ",",
	},
	"insert": {
		"x", "-o", "--output=x", "-delete", "-exec touch x ;", "-i", "w x", "$(touch x)", "`touch x`", "> x", ">> x", "2> x", "&> x", "<> x", "| tee x", "; touch x", "& touch x", "\ntouch x",
		"-e", "-f", "evil.sh", "./evil.sh", "-c", "--pre=./evil.sh", "{a,-o,x}", "-{o,x}", "$'-o'", "--", "/dev/tcp/127.0.0.1/9", "<(touch x)", "<<<x", "<<EOF\n$(touch x)\nEOF\n", "touch x", "PATH=.", "-C src",
		"'w x'", "s/a/b/w x", "s/h/touch x/e", "print > \"x\"", "system(\"touch x\")", "-n", "-p", "HEAD:x", "\\", "#", "'", "\"",
	},
	"open quote":  {"'", `"`, "$'", "\\", "''", `""`},
	"close quote": {"'", `"`, "", "''"},

	// Everywhere: each construct of bash, and what is put at every place of it.
	"construct": {
		"ls a", "ls a | cat b", "ls && cat b", "if ls; then cat; elif x; then y; else z; fi", "for x in a b; do ls; done", "for x\ndo ls\ndone",
		"while ls; do cat; break; done", "case a in a) ls;; b|c) cat;; esac", "case a in\n(a) ls\n;;\nesac", "f() { ls; }; f", "function f { ls; }\nf",
		"( ls )", "{ ls; }", "! ls", "time ls", "time -p ls", "[[ a = b && c = d ]]", "[[ ( a ) ]]", "(( 1 + 1 ))", "x=(a b) ls", "x=( a\nb )",
		"select x in a; do ls; done <a.txt", "until ls; do cat; done", "for ((i=0;i<1;i++)); do ls; done", "ls > /dev/null 2>&1", "ls <<E\na\nE\ncat",
		"echo $(ls) $(cat; wc)", "echo \"$(ls)\" b", "echo `ls a`", "cat <(ls) <(cat)", "x=1 y=2 ls", "export x=1 y=2", "declare -a x=(a b)", "ls; cat & wc",
		"ls ||\ncat", "ls |\ncat", "coproc ls", "coproc { ls; }", "ls a {b,c} 'd' \"e\" $'f'", "let x=1+1", "echo $((1+1)) ${x:-a}", "f()\n{ ls; }",
		"if ls\nthen cat\nfi", "eval ls", "{ ls\n} > w", "exec 3< a.txt", "ls &", "ls &\ncat", "a=$(ls;\ncat)", "for x in a; { ls; }",
	},
	"everywhere": {
		" #\\\nrun2 z\n", "#\\\nrun2 z\n", " # x\\\nrun2 z\n", "\\\n#x\nrun2\n", " \\\n#\\\nrun2\n", " #`\nrun2 `\n", " #'\nrun2 '\n", "\n#\\\\\nrun2\n",
		"#)\nrun2\n", " # )\nrun2 z\n", "\\\n", "''#;run2 z\n", "\"\"#;run2 z\n", "&\\\n>w ", "2\\\n>w ", "''\\\n#;run2\n", "$x#;run2\n", "$'a'#;run2\n",
	},
}
