package program

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/adze-dev/adze/permission/shell/bash"
)

// checks look at what programs.txt can't say.
var checks = map[string]func(a *Args) (why string){
	"awk": checkAwk, "branch": checkBranch, "config": checkConfig, "date": checkDate, "jq": checkJq, "listing": checkListing, "packer": checkPacker, "printf": checkPrintf,
	"ps": checkPs, "read": checkRead, "reflog": checkReflog, "remote": checkRemote, "sed": checkSed, "set": checkSet, "tar": checkTar, "test": checkTest,
	"xargs": checkXargs, "zip": checkZip,
}

func when(bad bool, why string) string {
	if bad {
		return why
	}
	return ""
}

// checkPrintf: -v assigns, and an index in its value may run commands.
func checkPrintf(a *Args) string {
	if len(a.Operands) == 0 || a.Operands[0].Kind != bash.Literal {
		return "the format of printf expands at run time, so its value can't be checked"
	}
	format := a.Operands[0].Text
	if format == "--" && len(a.Operands) > 1 && a.Operands[1].Kind == bash.Literal {
		format = a.Operands[1].Text
	} else if strings.HasPrefix(format, "-") {
		return "printf may assign a variable"
	}
	return when(bash.FormatAssigns(format), "printf may assign a variable")
}

// checkSet lets pass what makes the shell stricter or tell more: -e, -u, -x, -o pipefail.
func checkSet(a *Args) string {
	return when(!bash.SetsPlainly(a.Operands), "set changes shell options")
}

// checkDate: an operand that does not begin with a plus sets the clock, and TZ="…" in a date names a file of a time zone,
// which may be any file.
func checkDate(a *Args) string {
	for _, f := range a.Flags {
		if (f.Name == "-d" || f.Name == "--date") && !plainDate(f.Value.Text) {
			return "date -d may read a time zone from any file"
		}
	}
	for _, w := range a.Operands {
		if w.Kind != bash.Literal || !strings.HasPrefix(w.Text, "+") {
			return "date may set the system clock"
		}
	}
	return ""
}

// plainDate reports whether a date names no time zone, or one by its name.
func plainDate(date string) bool {
	_, zone, named := strings.Cut(date, "TZ=")
	if !named {
		return true
	}
	zone, _, closed := strings.Cut(strings.TrimPrefix(zone, `"`), `"`)
	return closed && PlainZone(zone)
}

// checkPs: an e without a minus shows the environment of every process, and so does one with it where ps cannot make
// sense of its words otherwise: it reads them once more as if no minus stood before any of them.
func checkPs(a *Args) string {
	unsure := len(a.Operands) > 0 || a.Has("-x", "-T", "-u", "-w")
	for _, f := range a.Flags {
		if unsure && (f.Name == "-e" || len(f.Name) == 2 && f.Name != "-o" && strings.Contains(f.Value.Text, "e")) {
			return "ps may show environment variables"
		}
	}
	for _, w := range a.Operands {
		if !slices.Contains([]string{"aux", "auxw", "auxww", "auxf", "axu", "axf", "ax", "a", "u", "x", "f", "w", "ww"}, w.Text) {
			return "ps may show environment variables"
		}
	}
	for _, f := range a.Flags {
		if f.Name == "-o" || f.Name == "--sort" {
			if why := checkColumns(f.Value.Text); why != "" {
				return why
			}
		}
	}
	return ""
}

// psColumns are what ps may show: all but environments.
var psColumns = strings.Fields("pid ppid pgid pgrp sid user uid ruser euser group gid cmd comm args command ucmd %cpu %mem pcpu pmem rss vsz sz size stat state s start lstart start_time " +
	"etime etimes time cputime tty tt tname nice ni pri psr wchan nlwp lwp tid c f flags class cls rtprio")

// checkColumns: the columns of ps, each perhaps with a heading behind an =.
func checkColumns(list string) string {
	for _, name := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' }) {
		name, _, _ = strings.Cut(strings.TrimLeft(name, "+-"), "=")
		if !slices.Contains(psColumns, strings.ToLower(name)) {
			return "ps may show " + name
		}
	}
	return ""
}

// testOperators are those of test and [ that only look at names, files and texts; -v calculates an index.
var testOperators = strings.Fields("! ( ) -a -o -e -f -d -s -r -w -x -L -h -z -n -p -S -b -c -k -g -u -t -N -O -G = == != < > -eq -ne -lt -le -gt -ge -nt -ot -ef && || ] ]]")

// checkTest: -v calculates an index, which may run a command. The files that are looked at are among the operands, and
// are taken for paths all of them.
func checkTest(a *Args) string {
	for i, w := range a.Operands {
		if w.Kind == bash.Literal && strings.HasPrefix(w.Text, "-") && len(w.Text) > 1 && !slices.Contains(testOperators, w.Text) {
			return "test operator " + w.Text + " is not on the read-only list"
		}
		if w.Kind == bash.Glob && a.Cmd.Name() != "[[" && mayBeOperator(w.Text) {
			return "glob pattern " + w.Text + " may expand to an operator"
		}
		if w.Kind == bash.PublicVar && a.Cmd.Name() != "[[" && !oneWord(w.Text) {
			return w.Text + " may expand to several words"
		}
		if w.Kind == bash.PublicVar && (i > 0 && IsFileTest(a.Operands[i-1].Text) || i+1 < len(a.Operands) && ComparesFiles(a.Operands[i+1].Text)) {
			return NotLiteral(w.Text)
		}
	}
	return ""
}

// oneWord reports whether a word with variables in it stays one word: in quotes, or a number. The pieces of one that
// does not may be operators.
func oneWord(source string) bool {
	return len(source) > 1 && source[0] == '"' && strings.IndexByte(source[1:], '"') == len(source)-2 ||
		slices.Contains([]string{"$?", "$#", "$$", "$!", "$UID", "$EUID"}, source)
}

// mayBeOperator reports whether a file that a pattern stands for may be called -v or -R: to test that is an operator
// which calculates.
func mayBeOperator(pattern string) bool {
	return strings.IndexByte("*?[-", pattern[0]) >= 0 && (strings.IndexByte(pattern, '[') >= 0 || strings.Trim(pattern, "*?-vR") == "")
}

// IsFileTest reports whether test looks at a file for an operator.
func IsFileTest(op string) bool {
	return ComparesFiles(op) || len(op) == 2 && op[0] == '-' && strings.IndexByte("efdsrwxLhpSbckguaNOG", op[1]) >= 0
}

func ComparesFiles(op string) bool { return op == "-nt" || op == "-ot" || op == "-ef" }

// comparesOnly reports whether test has so few words that none of them can be taken for an operator but the one that
// is: WORD, -z WORD, ! -n WORD, WORD = WORD, WORD -gt WORD. Numbers are not calculated by test, as they are by [[.
func comparesOnly(c *bash.Command, words []bash.Word) bool {
	switch c.Name() {
	case "[":
		if len(words) == 0 || words[len(words)-1].Text != "]" {
			return false
		}
		words = words[:len(words)-1]
	case "test":
	default:
		return false
	}
	size := func(w bash.Word) bool { return w.Kind == bash.Literal && (w.Text == "-z" || w.Text == "-n") }
	switch len(words) {
	case 1:
		return true
	case 2:
		return size(words[0])
	case 3:
		compares := words[1].Kind == bash.Literal && slices.Contains(comparing, words[1].Text)
		return compares || words[0].Kind == bash.Literal && words[0].Text == "!" && size(words[1])
	}
	return false
}

// comparing are the operators of test that compare two words, of which neither is a file.
var comparing = []string{"=", "==", "!=", "-eq", "-ne", "-lt", "-le", "-gt", "-ge"}

// isOneParam reports whether a word, as it is written, is a variable in double quotes: one word, whatever its value.
func isOneParam(source string) bool {
	name, ok := strings.CutPrefix(source, `"$`)
	if !ok {
		return false
	}
	if name, ok = strings.CutSuffix(name, `"`); !ok {
		return false
	}
	if strings.HasPrefix(name, "{") && strings.HasSuffix(name, "}") {
		name = name[1 : len(name)-1]
	}
	return bash.IsName(strings.TrimRight(name, "0123456789"))
}

// checkAwk lets a program pass that neither writes, runs, includes nor opens anything: it is searched as text, so that
// what stands in a string or a regular expression counts too.
func checkAwk(a *Args) string {
	if len(a.Operands) == 0 || a.Operands[0].Kind != bash.Literal {
		return "the awk program can't be checked"
	}
	code := a.Operands[0].Text
	for _, word := range []string{"system", "getline", "ARGV", "ARGC", "ENVIRON", "PROCINFO", "SYMTAB", "FUNCTAB", "@", "\\\n", "/inet", "extension"} {
		if strings.Contains(code, word) {
			return "the awk program contains " + word
		}
	}
	if strings.Contains(strings.ReplaceAll(code, "||", ""), "|") {
		return "the awk program contains a pipe"
	}
	// A file is written by print … > only, so that a > before the first print compares.
	if p := strings.Index(code, "print"); p >= 0 && strings.Contains(code[p:], ">") && awkWrites(code) {
		return "the awk program may write a file"
	}
	for _, f := range a.Flags {
		if strings.Contains(f.Value.Text, "ENVIRON") {
			return "the awk program reads environment variables"
		}
	}
	for _, w := range a.Operands[1:] {
		if strings.HasPrefix(w.Text, "/inet") {
			return "awk connects to " + w.Text
		}
	}
	return ""
}

// awkWrites reports whether a > in a program may be that of print. One in a string or in round brackets is none; but
// where a string begins is only sure if there is no regular expression and no comment that may hold a quote.
func awkWrites(code string) bool {
	if strings.ContainsAny(code, "/#") {
		return true
	}
	depth := 0
	for i := 0; i < len(code); i++ {
		switch code[i] {
		case '"':
			for i++; i < len(code) && code[i] != '"'; i++ {
				if code[i] == '\\' {
					i++
				}
				if i < len(code) && code[i] == '\n' {
					return true // no string goes on in the next line
				}
			}
		case '(':
			depth++
		case ')', '{', '}', ';', '\n':
			if depth--; code[i] != ')' || depth < 0 {
				depth = 0
			}
		case '>':
			if depth == 0 {
				return true
			}
		}
	}
	return false
}

// checkJq lets every program pass but one that reads modules from elsewhere.
func checkJq(a *Args) string {
	if len(a.Operands) == 0 {
		return when(!a.Has("--version", "-V", "--help"), "the jq program can't be checked")
	}
	if a.Operands[0].Kind != bash.Literal {
		return "the jq program can't be checked"
	}
	code := strings.ReplaceAll(a.Operands[0].Text, ".ENV", "") // a field; the variable may be written $ ENV
	for _, word := range []string{"import", "include", "modulemeta", "input_filename", "ENV", "env", "get_search_list"} {
		if ContainsWord(code, word) {
			return "the jq program contains " + word
		}
	}
	return ""
}

// ContainsWord reports whether word stands in s with no letter on either side.
func ContainsWord(s, word string) bool {
	for from := 0; ; {
		i := strings.Index(s[from:], word)
		if i < 0 {
			return false
		}
		i += from
		end := i + len(word)
		if (i == 0 || !IsLetter(s[i-1])) && (end == len(s) || !IsLetter(s[end])) {
			return true
		}
		from = i + 1
	}
}

func IsLetter(c byte) bool {
	return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9'
}

// checkPacker: only where they list, test or print do packers leave files alone. To xz and bzip2 the last of -t, -l and
// -d is the one that counts, so -d may stand beside -c alone.
func checkPacker(a *Args) string {
	if a.late {
		return "it may treat options after a file name as file names" // where getopt is not GNU's
	}
	prints := a.Has("-c", "--stdout", "--to-stdout")
	looks := a.Has("-l", "--list", "-t", "--test") && !a.Has("-d", "--decompress")
	return when(!prints && !looks, "it may replace files")
}

// checkRead: the names that read sets mean nothing to any program.
func checkRead(a *Args) string {
	names := 0
	for _, w := range a.Operands {
		switch {
		case w.Kind == bash.Literal && w.Text == "-r" && names == 0:
		case w.Kind != bash.Literal || !bash.IsScratchVar(w.Text): // a name with an index would be calculated
			return "read is on the read-only list only with -r and plain names"
		default:
			names++
		}
	}
	return when(names == 0, "read without a name sets REPLY")
}

// checkTar: an archive with a colon in its name is one on another machine.
func checkTar(a *Args) string {
	archives := 0
	for _, f := range a.Flags {
		if f.Name == "-f" || f.Name == "--file" {
			archives++
			if strings.Contains(f.Value.Text, ":") || f.Value.Kind != bash.Literal || len(f.Value.Text) > 1 && f.Value.Text[0] == '-' {
				return "the archive of tar can't be checked"
			}
		}
	}
	return when(archives != 1, "tar is on the read-only list only for listing one archive")
}

// checkZip: unzip looks up patterns itself.
func checkZip(a *Args) string {
	return when(strings.ContainsAny(a.Operands[0].Text, "*?["), "the name of the archive is a glob pattern")
}

// checkXargs: what xargs runs is literal, and judged on its own.
func checkXargs(a *Args) string {
	for _, f := range a.Flags { // -Iecho echo runs what it reads
		if len(a.Operands) > 0 && f.Name == "-I" && (f.Value.Kind != bash.Literal || f.Value.Text == "" || strings.Contains(a.Operands[0].Text, f.Value.Text)) {
			return "xargs chooses the command at run time"
		}
	}
	return when(len(a.Operands) > 0 && a.Operands[0].Kind != bash.Literal, "xargs chooses the command at run time")
}

// checkSed: scripts of commands that only print, and of s without the flags that write or run.
func checkSed(a *Args) string {
	var scripts []bash.Word
	for _, f := range a.Flags {
		if f.Name == "-e" || f.Name == "--expression" {
			scripts = append(scripts, f.Value)
		}
	}
	if len(scripts) == 0 {
		scripts = a.Operands[:min(1, len(a.Operands))]
	}
	for _, s := range scripts {
		if s.Kind != bash.Literal || !sedScript().MatchString(s.Text) {
			return "the sed script is not on the read-only list"
		}
	}
	return when(len(scripts) == 0, "the sed script can't be checked")
}

// sedScript is a script of such commands. Patterns in which seds might see a delimiter elsewhere are not matched: those
// with a delimiter, a bracket or a backslash between brackets, and lines that continue.
var sedScript = sync.OnceValue(func() *regexp.Regexp {
	pattern := func(delimiter string) string {
		class := `[^\]\[\\\n` + delimiter // not closed yet
		return `(?:[^\\\n\[` + delimiter + `]|\\[^\n]|\[\^?(?:` + class + `^]|\[:[a-z]+:\])(?:` + class + `]|\[:[a-z]+:\])*\])*` + delimiter
	}
	address := `(?:[0-9]+(?:~[0-9]+)?|\$|/` + pattern("/") + `I?)`
	var commands []string
	for _, d := range []string{"/", `\|`, ",", ":", "#", "@", "!", "%", "_"} {
		text := `(?:[^\\\n` + d + `]|\\[^\n])*` + d
		commands = append(commands, "s"+d+pattern(d)+text+"[gpiImM0-9]*", "y"+d+text+text)
	}
	command := `(?:[pd=nNDPhHgGxF]|[qQl][ 0-9]*|` + strings.Join(commands, "|") + `)`
	return regexp.MustCompile(`^(?:[\s;}]*(?:` + address + `[ \t]*(?:,[ \t]*(?:[+~]?[0-9]+|` + address + `))?)?[ \t!]*(?:\{|` + command + `[ \t]*(?:[;}\n]|$)))*[\s;}]*$`)
})

// checkListing: branch and tag make what they are given, unless they are told to list.
func checkListing(a *Args) string {
	if len(a.Operands) > 0 && !a.Has("-l", "--list") {
		// --contains and its kin take the next word.
		if len(a.Operands) > 1 || !a.Has("--contains", "--no-contains", "--merged", "--no-merged", "--points-at") {
			return "it may create " + a.Operands[0].Text
		}
	}
	return ""
}

// checkBranch: before git 2.19, -l asked branch for a log of what it makes.
func checkBranch(a *Args) string {
	named := slices.ContainsFunc(a.Operands, func(w bash.Word) bool { return !strings.ContainsAny(w.Text, "*?[") })
	if named && a.Has("-l") && !a.Has("--list", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at") {
		return "it may create " + a.Operands[0].Text
	}
	return checkListing(a)
}

func checkRemote(a *Args) string {
	if len(a.Operands) == 0 {
		return when(a.Has("--all", "--push"), "git remote with this flag is not on the read-only list")
	}
	if len(a.Operands) == 1 && a.Operands[0].Text == "show" {
		return "" // their names alone
	}
	return when(a.Operands[0].Text != "get-url" || len(a.Operands) > 2, "git remote "+a.Operands[0].Text+" changes or contacts a remote")
}

func checkReflog(a *Args) string {
	bad := len(a.Operands) > 0 && a.Operands[0].Kind != bash.Literal || len(a.Operands) > 0 && slices.Contains([]string{"expire", "delete", "drop", "write"}, a.Operands[0].Text)
	return when(bad, "git reflog may delete entries")
}

// checkConfig: two words set a value, unless one of the flags says that it is read.
func checkConfig(a *Args) string {
	if a.late {
		return "git config takes its second argument as a value to set"
	}
	if slices.ContainsFunc(a.Operands, func(w bash.Word) bool { return w.Kind != bash.Literal }) {
		return "a glob pattern may expand to several words"
	}
	if a.Has("--get", "--get-all", "--get-regexp") || len(a.Operands) > 0 && a.Operands[0].Text == "get" {
		return ""
	}
	if len(a.Operands) == 0 || len(a.Operands) == 1 && a.Operands[0].Text == "list" {
		return when(!a.Has("-l", "--list") && len(a.Operands) == 0, "git config is not on the read-only list")
	}
	if !strings.Contains(a.Operands[0].Text, ".") {
		return "git config may take " + a.Operands[0].Text + " as a subcommand" // edit, for one
	}
	return when(len(a.Operands) > 1 || a.Has("-l", "--list", "--default"), "git config may set a value")
}
