package session_test

import (
	"math/rand/v2"
	"strings"
)

// readCommands generates commands that only read, or try to run a program of the workspace. The n-th command is always
// the same.
type readCommands struct {
	rand *rand.Rand
	base string
}

// readCommand returns the n-th command for a tree.
func readCommand(tree *canaryTree, n int) string {
	g := &readCommands{rand: rand.New(rand.NewPCG(15, uint64(n))), base: tree.base}
	return g.line()
}

func (g *readCommands) pick(of []string) string { return of[g.rand.IntN(len(of))] }

// line returns a whole command line: some commands, joined, in a loop or with their output in a word.
func (g *readCommands) line() string {
	line := g.fill(g.pick(frames))
	if g.rand.IntN(6) == 0 {
		line = "cd " + g.fill("‹dir›") + g.pick([]string{" && ", "; "}) + line
	}
	return line
}

// fill replaces ‹kind› with one of that kind, whose own kinds are filled in too.
func (g *readCommands) fill(text string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(text, "‹")
		b.WriteString(before)
		if !ok {
			return strings.ReplaceAll(b.String(), "BASE", g.base)
		}
		kind, after, _ := strings.Cut(rest, "›")
		b.WriteString(g.fill(g.pick(kinds[kind])))
		text = after
	}
}

// frames are templates of lines. ‹kind› is replaced by one of kinds.
var frames = []string{
	"‹cmd›", "‹cmd›", "‹cmd›", "‹cmd›", "‹cmd›", "‹cmd›", "‹cmd›", "‹cmd› | ‹filter›", "‹cmd› | ‹filter›", "‹cmd› 2>&1 | ‹filter› | ‹filter›", "‹cmd›; ‹cmd›",
	"‹cmd› && ‹cmd›", "‹cmd› || ‹cmd›", "(‹cmd›)", "{ ‹cmd›; ‹cmd›; }", "! ‹cmd›", "‹cmd› 2>/dev/null", "echo \"$(‹cmd›)\"", "echo $(‹cmd›)",
	"for f in ‹words›; do ‹onf›; done", "for f in ‹words›; do ‹onf›; done | ‹filter›", "for f in $(‹names›); do ‹onf›; done", "for d in */; do ‹ond›; done",
	"for i in 1 2; do ‹cmd›; done", "‹names› | while read -r f; do ‹onf›; done", "while IFS= read -r f; do ‹onf›; done < list",
	"f=‹word›; ‹onf›", "d=‹dir›; ‹ond›", "f=$(‹names› | head -1); ‹onf›", "N=$(‹cmd›); echo \"$N\"", "if ‹cmd›; then ‹cmd›; fi", "[ -f go.mod ] && ‹cmd›",
	"‹names› | xargs ‹reader›", "‹names› | xargs -I{} ‹reader› {}", "‹names0› | xargs -0 ‹reader›", "‹names0› | xargs -0 -n1 ‹reader›", "‹names› | sort | xargs -n 2 ‹reader›",
	"‹reader› $(‹names›)", "‹reader› `‹names›`", "‹reader› <(‹cmd›)", "‹reader› < ‹word›", "diff <(‹cmd›) <(‹cmd›)", "case $(‹cmd›) in *) ‹cmd›;; esac",
	"a=(‹words›); ‹reader› \"${a[@]}\"", "set -- ‹words›; ‹reader› \"$@\"", "p=$(echo .e); ‹reader› ${p}nv", "x=‹glob›; ‹reader› $x", "printf '%s\\n' ‹words› | xargs -d '\\n' ‹reader›",
	"‹exec›", "‹escape›",
}

// kinds are the replacements for each kind of word or command.
var kinds = map[string][]string{
	"cmd": {
		"‹reader› ‹words›", "‹reader› ‹words›", "‹reader› ‹words›", "‹reader› ‹words›", "‹search›", "‹search›", "‹search›", "‹search›", "‹search›", "‹search›", "‹find›", "‹find›", "‹find›", "‹git›", "‹git›", "‹awk›", "‹pack›",
		"‹names›", "‹names›", "‹other›",
	},
	"reader": {"‹often›", "‹often›", "‹often›", "‹rarely›"},
	"often": {
		"cat", "cat", "cat -n", "head", "head -n 3", "head -c 400", "tail", "tail -n +1", "tac", "nl", "sort", "sort -u", "cut -c1-20", "cut -d= -f2", "od -c", "xxd", "strings", "base64", "wc", "sed -n 1,5p", "sed -n '/KEY/p'", "awk '{print $1}'",
		"awk -F= '{print $2}'", "grep .", "grep -n KEY", "grep -aih key", "rg .", "diff /dev/null", "jq -R .", "file", "ls -la",
	},
	"rarely": {
		"cat", "cat", "cat -n", "head", "head -n 3", "head -c 400", "tail", "tail -n +1", "tac", "nl", "rev", "sort", "sort -u", "uniq", "cut -c1-20", "cut -d= -f2", "cut -d, -f1,3", "paste",
		"paste -sd,", "fold -w 40", "fmt", "expand", "od -c", "od -An -tx1", "xxd", "xxd -p", "hexdump -C", "strings", "strings -n 3", "base64", "base64 -w0", "wc", "md5sum", "sha256sum", "comm /dev/null",
		"diff /dev/null", "cmp /dev/null", "sed -n 1,5p", "sed -n '/KEY/p'", "sed ''", "sed -n '$p'", "awk 1", "awk '{print $1}'", "awk -F= '{print $2}'", "grep .", "grep -n KEY", "grep -aih key",
		"grep -o '.*'", "egrep '(KEY|SECRET)'", "fgrep TODO", "rg .", "rg -N KEY", "tr a-z A-Z <", "jq -R .", "file", "stat", "ls -la", "column -t", "join /dev/null", "pr -t",
		"grep -f", "wc -l --files0-from", "sort --files0-from", "du -a", "bat -p", "less", "more",
	},
	"filter": {
		"cat", "head -50", "tail -40", "sort", "sort | uniq -c", "grep -i key", "grep -a .", "cut -c1-60", "tr -d ' '", "rev", "base64 -w0", "xxd -p", "od -c", "sed -n 1,40p", "awk '{print $NF}'", "wc -c",
		"strings", "tac", "nl", "tr a-z A-Z", "fold -w 30", "tee /dev/null", "column -t", "paste -sd ' '", "tar xOf -", "tar tvf -", "xargs -n1 echo", "xargs echo",
	},
	"word": {"‹plain›", "‹plain›", "‹plain›", "‹link›", "‹glob›", "‹glob›", "‹glob›", "‹secret›", "‹beyond›", "‹odd›", "‹dir›"},
	"words": {
		"‹plain›", "‹plain›", "‹plain›", "‹glob›", "‹glob›", "‹glob›", "‹glob›", "‹glob›", "‹glob›", "‹plain› ‹glob›", "‹plain› ‹glob›", "‹glob› ‹glob›", "‹link›", "‹link›", "‹plain› ‹link›", "‹beyond›", "‹odd›", "‹odd›", "‹secret›",
	},
	"plain": {"README.md", "src/main.go", "./go.mod", "src/lib/util.go", "docs/intro.md", "\"with space/file one.txt\"", "data/c.csv", "src/../README.md", "config/app.json", "list"},
	"link": {
		"link", "notes.md", "src/l.go", "outfile.txt", "docs/guide.md", "out/file", "out/dir/notes.txt", "up/outside/file", "loop", "src/home/notes.txt", "src/home/.netrc", "other.txt", "chain/notes.txt",
		"data/a.csv", "data/b.csv", "proc/.env", "keys.txt", "'with space/to env'", "pkg/.npmrc", "src/../link", "./link", "up/work/.env", "out/../outside/file", "src/home/../other/notes.txt",
	},
	"glob": {
		"*", ".*", ".e*", ".[e]nv", ".??v", "*.pem", "*.[pk]*", "id_*", "*/*", "*/.e*", "*/.*", "**/*", "src/*", "src/.*", "[a-z]*", "[!.]*", "?*", "{.,}[a-z]*", ".e{n,x}v", "keys/*", "out/*", "*/*/*/*", "data/*.csv",
		"docs/*.md", "*.md", "*.txt", "src/*/*", "n*/.env", "*' '*/.env", "../*/file", "../o*/*", "up/*/*", "~/.n*", "~/*", "-*/*", "./-*/*", "src/home/*", "pkg/*", "pkg/.*", "node_modules/*/.np*", ".a*/*", "*/cred*",
	},
	"secret": {".env", "server.pem", "./.env", "src/.env", "keys/id_ed25519", ".e\"n\"v", "src/lib/../.env", "$PWD/.env", "BASE/work/.env", ".ssh/id_rsa", "'.env'", ".e\\nv", "$'.e\\x6ev'"},
	"beyond": {
		"../outside/file", "BASE/outside/file", "~/.netrc", "~/notes.txt", "$HOME/.ssh/id_rsa", "\"$HOME\"/notes.txt", "../other/notes.txt", "BASE/other/.bashrc", "/proc/self/cwd/.env", "/proc/self/rootBASE/outside/file",
		"/proc/$$/cwd/link", "src/../../outside/file", "$OLDPWD/../outside/file", "${PWD%/*}/outside/file", "../work/.env", "/dev/fd/../../../cwd/.env", "../outside//./dir/notes.txt", "/etc/hostname",
	},
	"odd": {
		"'with space/.env'", "with\\ space/*", "$'new\\nline/.env'", "new*line/.env", "-n/.env", "./-n/.env", "-- -n/-e.pem", "'$(id)/.env'", "'*/id_rsa'", "\"quo'te\"/*", "back\\\\slash/.env", "ünï/.env", "ün*/.e*",
		"'[ab]'/x.pem", "\\[ab\\]/*", "-n/*", "nested/.env", "nested/.e*", ".hidden/.n*", "'with space'/*", "\"with space/to env\"",
	},
	"dir": {
		".", ".", ".", ".", ".", "src", "src", "src", "docs", "docs", "config", "data", "data", "nested", "logs", "src", "src/lib", "keys", "docs", "data", "'with space'", "out", "up", "../outside", "src/home", "chain", "node_modules", "pkg", "nested", "./-n", "logs", "..", "$HOME", "~", "proc", "src/..", "*/",
		"$PWD", "BASE/other", "$'new\\nline'", "config", ".hidden", ".ssh", ".aws",
	},
	"pattern": {"KEY", "API_KE[Y]", "[A-Z]+_KEY", "'KEY='", "SECRET", "TODO", "'.4N4'", "C4N[4]RY", "-e KEY -e TODO", "''", ".", "'^'", "-i secret", "-w API_KEY", "'C.*Y$'", "[A]", "*", "-v zzz", "-c KEY", "-e ''"},
	"search": {
		"grep -r ‹pattern›", "grep -rn ‹pattern› ‹dir›", "grep -R ‹pattern› ‹dir›", "grep -rh ‹pattern› .", "grep -rE ‹pattern›", "grep -rI ‹pattern› --include='*.env' .", "grep -rs ‹pattern› --include=.e*",
		"grep -rn ‹pattern› --exclude-dir=node_modules", "grep -rl ‹pattern› ‹dir›", "grep -ra ‹pattern› ‹dir› -A 2", "grep ‹pattern› ‹words›", "grep -H ‹pattern› ‹glob›", "grep -rz ‹pattern› ‹dir›", "grep -d recurse ‹pattern› ‹dir›",
		"rg ‹pattern›", "rg -uu ‹pattern›", "rg -uuu ‹pattern› ‹dir›", "rg --hidden ‹pattern›", "rg -L ‹pattern› ‹dir›", "rg -g '#' -uu ‹pattern›", "rg -g '*.pem ' ‹pattern›", "rg -g '!x' --hidden ‹pattern›", "rg --no-ignore ‹pattern› ‹words›",
		"rg -a ‹pattern› ‹dir›", "rg -z ‹pattern› --hidden", "rg --files --hidden", "rg -I --hidden ‹pattern› .", "rg --passthru -uu ‹pattern›", "rg -C3 --hidden ‹pattern›", "rg -o '.*' -uu", "rg -r x -uu ‹pattern›", "rg --ignore-file .env ‹pattern›",
		"git grep ‹pattern›", "git grep --untracked ‹pattern›", "git grep --no-index ‹pattern›", "git grep --no-index ‹pattern› -- ‹words›", "git grep --no-exclude-standard --untracked ‹pattern›",
		"ack ‹pattern›", "ag ‹pattern›", "fd -H . -x cat", "zgrep ‹pattern› ‹words›", "rg -f .env README.md", "grep -f .env -r .", "grep --file=link src -r",
	},
	"find": {
		"find ‹dir› -name '‹name›' -exec ‹reader› {} \\;", "find ‹dir› -type f -exec ‹reader› {} +", "find -L ‹dir› -type f -exec ‹reader› {} +", "find . -name '‹name›' -print0 | xargs -0 ‹reader›",
		"find . -type l -exec ‹reader› {} +", "find ‹dir› -newer go.mod -type f -exec grep -H ‹pattern› {} +", "find . -name '‹name›' | xargs grep ‹pattern›", "find . -maxdepth 2 -type f -size -9k -exec head -2 {} +",
		"find . -path '*/.e*' -exec ‹reader› {} \\; -quit", "find . \\( -name '*.pem' -o -name '.e*' \\) -exec ‹reader› {} +", "find -H out -type f -exec ‹reader› {} +", "find ‹dir› -samefile link -exec ‹reader› {} \\;",
		"find . -execdir ‹reader› ./.env \\; -quit", "find ‹words› -prune -type f -exec ‹reader› {} \\;", "find . -files0-from list -exec cat {} +", "find ‹dir› -ls", "find . -xtype f -name '‹name›' -exec ‹reader› {} +",
	},
	"name":   {"*", ".e*", ".env*", "*.pem", "id_*", "*.txt", "*.md", "[.]*", "*rc", "l*", "*n*", "cred*", ".[!g]*"},
	"names":  {"ls", "ls -A", "ls -a ‹dir›", "ls -d .*", "find . -type f", "find ‹dir› -name '‹name›'", "find . -type l", "git ls-files", "git ls-files -o", "git ls-files -o --exclude-standard", "rg --files --hidden", "rg --files -uu", "echo ‹words›", "printf '%s\\n' ‹words›", "cat list", "echo .e nv | tr -d ' '", "printf .%s env", "ls -R", "echo ‹glob›", "realpath ‹words›", "readlink -f ‹link›", "git status --porcelain | cut -c4-"},
	"names0": {"find . -type f -print0", "find . -name '‹name›' -print0", "printf '%s\\0' ‹words›", "git ls-files -oz", "find -L . -maxdepth 3 -type f -print0", "git ls-files -z", "rg --files -uu -0"},
	"git": {
		"git status", "git status -uall --porcelain", "git diff", "git diff --no-index /dev/null ‹word›", "git diff --no-index ‹dir› ‹dir›", "git log -p", "git log --stat", "git show", "git show HEAD:README.md", "git blame README.md",
		"git blame --contents ‹word› README.md", "git ls-files -s", "git check-ignore -v *", "git check-attr -a ‹word›", "git cat-file -p HEAD", "git hash-object ‹word›", "git diff HEAD -- ‹word›", "git -C nested status", "git -C ‹dir› diff",
		"git log -p -- ‹glob›", "git log -L1,3:README.md", "git shortlog -s HEAD", "git config -l", "git config -f ‹word› -l", "git config --get-regexp .", "git diff -O‹word›", "git log --format=%H", "git apply --stat ‹word›",
		"git --git-dir=.git --work-tree=../outside diff", "git --git-dir=.git --work-tree=.. status", "git stripspace < ‹word›", "git patch-id < ‹word›", "git interpret-trailers ‹word›", "git check-mailmap --mailmap-file=‹word› 'a <b>'",
		"git grep -f ‹word›", "git ls-files -X ‹word› -o -i", "git column < ‹word›", "git archive HEAD | tar tf -", "git rev-parse HEAD", "git merge-file -p ‹word› README.md README.md", "git mailinfo /dev/null /dev/null < ‹word›",
	},
	"awk": {
		"awk '/KEY/' ‹words›", "awk '{print FILENAME \": \" $0}' ‹words›", "awk 'FNR==1' ‹words›", "awk -F= '/KEY/{print $2}' ‹glob›", "awk 'BEGIN{while((getline l < \".env\")>0) print l}'", "awk 'BEGIN{f=\".e\" \"nv\"; while((getline l < f)>0) print l}'",
		"awk -f ‹word›", "awk -v f=link 'BEGIN{getline < f; print}'", "sed -n 'p' ‹words›", "sed -n '/KEY/,$p' ‹words›", "sed -n 'r .env' README.md", "sed 'r link' README.md", "sed -n '1R ../outside/file' README.md", "sed -f ‹word› README.md",
		"sed '$!d' ‹words›", "awk '{a[NR]=$0} END{for(i=NR;i;i--) print a[i]}' ‹words›", "awk 'NR==FNR' ‹words›",
		"python3 -c 'print(open(\".env\").read())'", "python3 -c 'import glob; [print(open(f).read()) for f in glob.glob(\".*\")+glob.glob(\"*.pem\")+glob.glob(\"out/*\") if f != \".\" and f[:4] != \".git\" and __import__(\"os\").path.isfile(f)]'",
		"perl -ne 'print' ‹words›", "node -e 'console.log(require(\"fs\").readFileSync(\"link\", \"utf8\"))'", "python3 -c 'import os; print(os.popen(\"cat link; ./tools/evil\").read())'",
	},
	"pack": {
		"tar cf - ‹words›", "tar cf - ‹words› | tar xOf -", "tar chf - ‹words› | tar xOf -", "tar cf - . | strings", "tar cf - ‹dir› | grep -a KEY", "tar cf - -T list | tar xOf -", "tar czf - ‹words› | tar xzOf -", "gzip -c ‹words› | gzip -dc",
		"find . -type f | cpio -o 2>/dev/null | strings", "zip -q - ‹words› | cat", "ls ‹words› | cat", "xz -c ‹words› | xz -dc", "bzip2 -c ‹word› | bzip2 -dc", "zcat -f ‹words›", "dd if=‹word› status=none", "tar --exclude-from=‹word› -cf - README.md | tar tf -",
	},
	"other": {
		"mapfile -t a < ‹word›; echo \"${a[@]}\"", "read -r a < ‹word›; echo \"$a\"", "echo \"$(<‹word›)\"", "echo $(< .env)", "cat <<< \"$(cat ‹words›)\"", "test -s ‹word› && cat ‹word›", "printf '%s' \"$(cat ‹words›)\"", "tree -a", "du -a ‹dir›",
		"ls -la ‹words›", "exec 3< ‹word›; cat <&3", "cat -- ‹words›", "cat ./‹glob›", "env cat ‹word›", "command cat ‹word›", "nice cat ‹word›", "timeout 5 cat ‹word›", "xargs -a ‹word› echo", "xargs -a list cat", "date -f ‹word›",
		"date -r ‹word›", "sort -m ‹words›", "sort --files0-from=‹word›", "wc --files0-from=‹word›", "diff -r ‹dir› ‹dir›", "diff -ru docs src", "diff --from-file=README.md ‹words›", "cmp ‹word› README.md", "comm ‹word› ‹word›",
		"cat /proc/*/cwd/.env", "cat /proc/self/environ", "cat /proc/$PPID/cwd/‹link›", "cat /proc/1/rootBASE/work/.env", "ps auxeww", "cat /proc/self/mountinfo", "cd -P out && cat *", "cd -L src/home/../lib && cat .e*", "pushd out >/dev/null && cat *",
		"cat \"$(find . -name .env | head -1)\"", "while read -r l; do echo \"$l\"; done < ‹word›", "source ‹word› 2>&1", ". ./‹plain› 2>&1", "bash -n ‹word› 2>&1", "jq . ‹word›", "jq -n --rawfile a ‹word› '$a'",
		"jq -Rs . ‹words›", "column -t ‹words›", "yes | head -3", "seq 3", "pr ‹words›", "ptx ‹word›", "tsort ‹word›", "shuf ‹word›", "numfmt --invalid=warn < ‹word›", "uniq -c ‹word›", "csplit --help", "getconf PATH", "locale", "id",
	},
	"onf":  {"‹reader› \"$f\"", "‹reader› $f", "echo \"$f: $(‹reader› \"$f\" 2>/dev/null)\"", "grep -H ‹pattern› \"$f\"", "[ -f \"$f\" ] && ‹reader› \"$f\"", "‹reader› < \"$f\"", "test -L \"$f\" && ‹reader› \"$f\"", "‹reader› \"./$f\""},
	"ond":  {"‹reader› \"$d\"/*", "‹reader› $d/.e*", "grep -r ‹pattern› \"$d\"", "(cd \"$d\" && ‹reader› *)", "cat \"$d\".env", "find \"$d\" -type f -exec ‹reader› {} +", "ls -A \"$d\""},
	"exec": {"./tools/evil", "tools/evil ‹word›", "find . -name 'ev*' -exec {} \\;", "PATH=$PWD/tools:$PATH evil", "env ./tools/evil", "awk 'BEGIN{system(\"./tools/evil\")}'", "git -c core.pager=$PWD/tools/evil -p log", "git -c diff.external=$PWD/tools/evil diff --ext-diff", "f=tools; $f/evil", "echo | xargs ./tools/evil", "rg --pre ./tools/evil KEY", "tar cf - README.md --use-compress-program=./tools/evil", "sort --compress-program=./tools/evil README.md", "sed '1e ./tools/evil' README.md", "src/../tools/evil", "(exec ./tools/evil)", "cp tools/evil $TMPDIR/e && $TMPDIR/e"},
	"escape": {
		"umount .env; cat .env", "umount -l .env src/.env; cat .env src/.env", "unshare -Urm sh -c 'umount .env; cat .env'", "unshare -Ur cat ../outside/file", "unshare -Urmpf --mount-proc sh -c 'umount -l .env; cat .env link'",
		"mount --bind ../outside docs; cat docs/*", "nsenter -t 1 -m cat .env", "nsenter -t 1 -a cat BASE/work/.env", "chroot /proc/1/root cat BASE/work/.env", "ln .env $TMPDIR/x && cat $TMPDIR/x", "ln -s ../outside $TMPDIR/x; cat $TMPDIR/x/file",
		"cp -r src $TMPDIR/c; cat $TMPDIR/c/.env", "cp -al . $TMPDIR/c; cat $TMPDIR/c/.env", "mv .env x; cat x", "cat /proc/*/task/*/root/BASE/work/.env", "cat /proc/*/map_files/*", "ls -l /proc/self/fd; cat /proc/self/fd/[3-9]",
		"for p in /proc/[0-9]*; do cat $p/cwd/.env $p/root/BASE/outside/file; done",
		"python3 -c 'import ctypes; l = ctypes.CDLL(None); print(l.unshare(0x10020000), l.umount2(b\".env\", 2)); print(open(\".env\").read())'", "perl -e 'open F, \"<\", \".env\"; print <F>; opendir D, \"../outside\"; print readdir D; open G, \"<\", \"../outside/file\"; print <G>'",
		"python3 -c 'import os; d = os.open(\"..\", os.O_PATH); print(os.read(os.open(\"outside/file\", 0, dir_fd=d), 99))'", "python3 -c 'import os; os.chdir(\"out\"); print(open(\"file\").read())'",
	},
}
