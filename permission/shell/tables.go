package shell

// The flags of the everyday commands that only look. GNU and BSD spellings stand side by side; a flag is here only if
// it is harmless in both. grep's --context takes the next word in one of them alone.
const (
	lsFlags = "-aAbBcCdfFgGhHiklLmnNopqQrRsStuUvxXZ1 -I: -w: -T: --all --almost-all --author --escape --block-size: --ignore-backups " +
		"--color? --directory --classify? --file-type --format: --full-time --group-directories-first --no-group --human-readable --si " +
		"--dereference-command-line --hide: --hyperlink? --indicator-style: --inode --ignore: --kibibytes --dereference --numeric-uid-gid " +
		"--literal --quote-name --quoting-style: --reverse --recursive --size --sort: --time: --time-style: --width: --zero --context"
	grepFlags = "-abcEFGhHiIlLnopPqrRsTUvVwxyzZ -A: -B: -C: -m: -e: -f@ -d: -D: -# --after-context: --before-context: --context? --max-count: " +
		"--regexp: --file@ --directories: --devices: --text --byte-offset --count --extended-regexp --fixed-strings --basic-regexp " +
		"--perl-regexp --no-filename --with-filename --ignore-case --no-ignore-case --files-with-matches --files-without-match " +
		"--line-number --only-matching --quiet --silent --recursive --dereference-recursive --no-messages --initial-tab --binary " +
		"--invert-match --word-regexp --line-regexp --null --null-data --color? --colour? --include: --exclude: --exclude-dir: " +
		"--exclude-from@ --label: --line-buffered --binary-files: --group-separator: --no-group-separator --version --help"
	rgFlags = "-acFhHiIlLnNopPqsSUuvVwx0. -A: -B: -C: -m: -e: -f@ -d: -g: -t: -T: -j: -M: -E: -r: --after-context: --before-context: --context: " +
		"--max-count: --regexp: --file@ --max-depth: --maxdepth: --glob: --iglob: --type: --type-not: --threads: --max-columns: --encoding: " +
		"--replace: --text --count --count-matches --fixed-strings --ignore-case --case-sensitive --smart-case --files --files-with-matches " +
		"--files-without-match --follow --line-number --no-line-number --no-heading --heading --only-matching --pcre2 --quiet --hidden " +
		"--no-hidden --no-ignore --no-ignore-vcs --multiline --multiline-dotall --unrestricted --invert-match --word-regexp --line-regexp " +
		"--null --color: --colors: --column --no-column --json --stats --sort: --sortr: --trim --type-list --vimgrep --with-filename " +
		"--no-filename --version --help --no-config --one-file-system --passthru --crlf --no-messages --max-filesize: --max-columns-preview --debug"
	sortFlags = "-bdfgiMhnRrVcCmsuz -k: -t: --ignore-leading-blanks --dictionary-order --ignore-case --general-numeric-sort " +
		"--ignore-nonprinting --month-sort --human-numeric-sort --numeric-sort --reverse --version-sort --sort: --check? --key: --merge " +
		"--stable --field-separator: --unique --zero-terminated --parallel:"
	duFlags = "-aAbcDhHklLmPsSx0 -d: -B: -t: --all --apparent-size --block-size: --bytes --total --max-depth: --human-readable --inodes " +
		"--dereference --no-dereference --null --separate-dirs --si --summarize --threshold: --time? --time-style: --exclude: --one-file-system"
	treeFlags = "-adfixlpsughDFqNQvtcUrnCSJX -L: -I: -P: --gitignore --ignore-case --matchdirs --metafirst --prune --noreport --dirsfirst " +
		"--filesfirst --sort? --du --si --inodes --device --timefmt: --filelimit: --charset: --version --help"
	diffFlags = "-abBcdeEinNpPqrstTuvwyZ -U: -C: -W: -x: -I: -F: -# --unified? --context? --brief --recursive --new-file --ignore-case " +
		"--ignore-all-space --ignore-space-change --ignore-blank-lines --ignore-trailing-space --ignore-tab-expansion --text --side-by-side " +
		"--width: --suppress-common-lines --left-column --report-identical-files --color? --exclude: --strip-trailing-cr --minimal " +
		"--speed-large-files --normal --label: --no-dereference --ed --rcs --show-c-function --expand-tabs --initial-tab --ignore-matching-lines: " +
		"--version --help"
	jqFlags = "-acCejMnrRsSV -# --compact-output --null-input --raw-input --raw-output --raw-output0 --join-output --ascii-output --slurp " +
		"--sort-keys --color-output --monochrome-output --tab --indent: --exit-status --arg+ --argjson+ --stream --stream-errors --seq --unbuffered --version --help"
	hexdumpFlags = "-bcCdovx -e: -n: -s: --canonical --length: --skip: --no-squeezing"
	packFlags    = "-cdltvqk --stdout --to-stdout --decompress --list --test --verbose --quiet --keep"
	fdFlags      = "-HIuaigsFp0q1 -e: -t: -d: -E: -S: --hidden --no-ignore --no-ignore-vcs --type: --extension: --max-depth: --min-depth: --exclude: --absolute-path --glob " +
		"--ignore-case --case-sensitive --fixed-strings --full-path --print0 --max-results: --changed-within: --changed-before: --size: --color: --version --help"
	sumFlags = "-bltz --binary --text --tag --zero --length: --version --help -a: --algorithm:"
)

// specs are the commands that are harmless with the flags named here.
var specs = map[string]spec{
	"ls":     {flags: lsFlags, operands: listed, safe: true},
	"dir":    {flags: lsFlags, operands: listed, safe: true},
	"vdir":   {flags: lsFlags, operands: listed, safe: true},
	"cat":    {flags: "-AbeEnstTuv --show-all --number-nonblank --show-ends --number --squeeze-blank --show-tabs --show-nonprinting", operands: contents, safe: true},
	"head":   {flags: "-qvz -n: -c: -# --lines: --bytes: --quiet --silent --verbose --zero-terminated", operands: contents, safe: true},
	"tail":   {flags: "-fFqvzr -n: -c: -s: -# --lines: --bytes: --follow? --quiet --silent --verbose --retry --sleep-interval: --zero-terminated", operands: contents, safe: true},
	"wc":     {flags: "-clLmw --bytes --chars --lines --max-line-length --words --total:", operands: contents, safe: true},
	"nl":     {flags: "-p -b: -d: -f: -h: -i: -l: -n: -s: -v: -w: --body-numbering: --number-format: --number-width: --number-separator: --starting-line-number:", operands: contents, safe: true},
	"rev":    {flags: "", operands: contents, safe: true},
	"cut":    {flags: "-nsz -b: -c: -d: -f: --bytes: --characters: --delimiter: --fields: --complement --only-delimited --output-delimiter: --zero-terminated", operands: contents, safe: true},
	"paste":  {flags: "-sz -d: --delimiters: --serial --zero-terminated", operands: contents, safe: true},
	"join":   {flags: "-iz -a: -e: -j: -o: -t: -v: -1: -2: --ignore-case --header --check-order --nocheck-order", operands: contents, safe: true},
	"comm":   {flags: "-123iz --check-order --nocheck-order --output-delimiter: --total --zero-terminated", operands: contents, safe: true},
	"fold":   {flags: "-bs -w: --bytes --spaces --width:", operands: contents, safe: true},
	"fmt":    {flags: "-cstu -w: -p: -g: --width: --goal: --prefix: --split-only", operands: contents, safe: true},
	"expand": {flags: "-i -t: --initial --tabs:", operands: contents, safe: true}, "unexpand": {flags: "-a -t: --all --first-only --tabs:", operands: contents, safe: true},
	"column":  {flags: "-tnexL -s: -c: -o: -N: -R: -H: --table --separator: --output-separator: --columns: --table-columns: --json --fillrows", operands: contents},
	"strings": {flags: "-afo -n: -t: -e: --all --print-file-name --bytes: --radix: --encoding:", operands: contents, safe: true, answers: true},
	"od":      {flags: "-abcdfilosvx -A: -j: -N: -S: -t: -w? --address-radix: --skip-bytes: --read-bytes: --format: --width? --output-duplicates", operands: contents, safe: true},
	"hexdump": {flags: hexdumpFlags, operands: contents, safe: true}, "hd": {flags: hexdumpFlags, operands: contents, safe: true},
	"xxd":    {exact: "-a -b -C -d -e -E -i -p -ps -plain -u -c: -cols: -g: -l: -len: -o: -s: -seek:", operands: contents, most: 1, check: noGlobs},
	"base64": {flags: "-dDi -w: --decode --ignore-garbage --wrap:", operands: contents},
	"base32": {flags: "-di -w: --decode --ignore-garbage --wrap:", operands: contents},
	"md5sum": {flags: sumFlags, operands: contents}, "sha1sum": {flags: sumFlags, operands: contents}, "sha224sum": {flags: sumFlags, operands: contents},
	"sha256sum": {flags: sumFlags, operands: contents}, "sha384sum": {flags: sumFlags, operands: contents}, "sha512sum": {flags: sumFlags, operands: contents},
	"b2sum": {flags: sumFlags, operands: contents}, "shasum": {flags: sumFlags, operands: contents}, "md5": {flags: "-qr", operands: contents},
	"cksum": {flags: "-a: --algorithm:", operands: contents}, "sum": {flags: "-rs", operands: contents},
	"sort": {flags: sortFlags, operands: contents},
	"uniq": {flags: "-cdDuiz -f: -s: -w: --count --repeated --all-repeated? --unique --ignore-case --skip-fields: --skip-chars: --check-chars: --zero-terminated", operands: contents, most: 1, check: noGlobs},
	"tr":   {flags: "-cCdst --complement --delete --squeeze-repeats --truncate-set1", operands: plain, most: 2},
	"grep": {flags: grepFlags, operands: pattern, safe: true, check: checkGrep}, "egrep": {flags: grepFlags, operands: pattern, safe: true, check: checkGrep},
	"fgrep": {flags: grepFlags, operands: pattern, safe: true, check: checkGrep},
	"rg":    {flags: rgFlags, operands: pattern},
	"stat":  {flags: "-fLtxsnqr -c: --dereference --file-system --cached: --format: --printf: --terse", operands: listed, safe: true},
	"file":  {flags: "-bhiIkLNnrv0 --brief --mime --mime-type --mime-encoding --dereference --no-dereference --keep-going --no-pad --raw --print0 --extension -F: --separator:", operands: contents},
	"du":    {flags: duFlags, operands: listed, safe: true}, "df": {flags: "-ahHiklmPT -t: -x: -B: --all --block-size: --human-readable --si --inodes --local --portability --print-type --total --type: --exclude-type: --output?", operands: plain},
	"tree": {flags: treeFlags, operands: listed, apart: true},
	"diff": {flags: diffFlags, operands: contents, most: 2}, "cmp": {flags: "-bls -n: -i: --print-bytes --verbose --quiet --silent --bytes: --ignore-initial:", operands: contents, most: 2, check: noGlobs},
	"sed": {flags: sedFlags, operands: program, check: checkSed}, "gsed": {flags: sedFlags, operands: program, check: checkSed},
	"awk": {flags: awkFlags, operands: program, stops: true, check: checkAwk}, "gawk": {flags: awkFlags, operands: program, stops: true, check: checkAwk},
	"mawk": {flags: awkFlags, operands: program, stops: true, check: checkAwk}, "nawk": {flags: awkFlags, operands: program, stops: true, check: checkAwk},
	"jq": {flags: jqFlags, operands: program, check: checkJq},

	"tac":     {flags: "-br -s: --before --regex --separator:", operands: contents, safe: true, check: checkTac},
	"nm":      {flags: "-aACDgnpPrSuv --demangle? --dynamic --extern-only --defined-only --undefined-only --size-sort --numeric-sort --print-size", operands: contents, answers: true},
	"objdump": {flags: "-adDfhHprRstTxwC -j: -M: --disassemble --disassemble-all --file-headers --section-headers --syms --dynamic-syms --reloc --no-show-raw-insn --demangle?", operands: contents, answers: true},
	"readelf": {flags: "-aehlSsdnrVAW -p: -x: --all --file-header --program-headers --segments --section-headers --sections --symbols --syms --dyn-syms --notes --relocs --dynamic --wide", operands: contents, answers: true},
	"size":    {flags: "-ABdoxt --format: --totals", operands: contents, answers: true},
	"iconv":   {flags: "-cs -f: -t: -l --from-code: --to-code: --list", operands: contents, check: checkIconv},
	"shuf":    {flags: "-erz -i: -n: --echo --repeat --zero-terminated --input-range: --head-count:", operands: contents},
	"numfmt":  {flags: "-z -d: --to: --from: --suffix: --padding: --format: --field: --header? --grouping --round: --to-unit: --from-unit: --invalid: --delimiter:", operands: plain},
	"tsort":   {operands: contents, most: 1}, "expr": {operands: plain, raw: true}, "factor": {operands: plain, check: checkNumbers},
	"zcat": {flags: "-f", operands: contents}, "bzcat": {operands: contents}, "xzcat": {operands: contents}, "zstdcat": {operands: contents},
	"gzip": {flags: packFlags, operands: contents, check: checkPacker}, "gunzip": {flags: packFlags, operands: contents, check: checkPacker},
	"xz": {flags: packFlags, operands: contents, check: checkPacker}, "bzip2": {flags: packFlags, operands: contents, check: checkPacker},
	"bc": {flags: "-lqsw --mathlib --quiet --standard --warn", operands: contents},
	"fd": {flags: fdFlags, operands: pattern}, "fdfind": {flags: fdFlags, operands: pattern},

	"echo":     {operands: plain, raw: true, publicVars: true},
	"printf":   {operands: plain, raw: true, publicVars: true, check: checkPrintf},
	"basename": {flags: "-az -s: --multiple --suffix: --zero", operands: plain, safe: true},
	"dirname":  {flags: "-z --zero", operands: plain, safe: true},
	"realpath": {flags: "-eEmLPqsz --canonicalize-existing --canonicalize-missing --logical --physical --quiet --relative-to@ --relative-base@ --strip --no-symlinks --zero", operands: listed, safe: true},
	"readlink": {flags: "-efmnqsvz --canonicalize --canonicalize-existing --canonicalize-missing --no-newline --quiet --silent --verbose --zero", operands: listed, safe: true},
	"pwd":      {flags: "-LP --logical --physical"},
	"cd":       {flags: "-L", operands: listed, most: 1},
	"which":    {flags: "-as --all", operands: plain, safe: true},
	"type":     {flags: "-aftpP", operands: plain, safe: true},
	"command":  {flags: "-vV", operands: plain, check: func(a *args) string { return when(!a.has("-v", "-V"), "command runs another command") }},
	"date":     {flags: "-u -d: -r@ -R -I? --date: --utc --universal --rfc-3339: --rfc-email --iso-8601? --reference@", operands: plain, most: 1, check: checkDate},
	"env":      {flags: "-0 --null", check: envAlone},
	"printenv": {flags: "-0 --null", operands: plain},
	"test":     {operands: listed, raw: true, publicVars: true, check: checkTest},
	"[":        {operands: listed, raw: true, publicVars: true, check: checkTest},
	"[[":       {operands: listed, raw: true, publicVars: true, check: checkTest},
	"true":     {operands: plain, raw: true}, "false": {operands: plain, raw: true}, ":": {operands: plain, raw: true},
	"whoami": {}, "tty": {flags: "-s"}, "nproc": {flags: "--all"}, "hostname": {flags: "-sI"}, "uptime": {flags: "-ps --pretty --since"},
	"uname": {flags: "-asnrvmpio --all --kernel-name --nodename --kernel-release --kernel-version --machine --processor --operating-system"},
	"id":    {flags: "-ugGnrz --user --group --groups --name --real --zero", operands: plain}, "groups": {operands: plain}, "logname": {}, "arch": {},
	"free": {flags: "-bkmghtvw --bytes --kibi --mebi --gibi --human --total --wide"}, "lscpu": {flags: "-aJxy --json"}, "locale": {flags: "-a"}, "getconf": {operands: plain},
	"seq": {flags: "-w -f: -s: --format: --separator: --equal-width", operands: plain, check: checkNumbers}, "sleep": {operands: plain, check: checkNumbers},
	"ps":   {flags: "-AaefFlxwjHLT -p: -u: -C: -o: --sort: --pid: --ppid: --forest --no-headers --user:", operands: plain, check: checkPs},
	"find": {operands: plain}, "git": {operands: plain}, "tar": {operands: plain}, "unzip": {operands: plain}, "zipinfo": {operands: plain}, // judged on their own
	"lsblk": {flags: "-afJlpbdnmtSD -o: --json --fs --all --bytes --list --output:", operands: plain}, "lsmod": {}, "lsb_release": {flags: "-acdirs --all --description"},
	"pgrep": {flags: "-aflnoxcivw -u: -P: -U: -t: -d: -g: --list-name --list-full --full --exact --count --newest --oldest", operands: plain},
	"pidof": {flags: "-sx", operands: plain}, "whereis": {flags: "-bms", operands: plain}, "cal": {operands: plain, check: checkNumbers},
	"who": {flags: "-abHqrsTu"}, "w": {flags: "-hsfo"}, "users": {}, "tput": {operands: plain, check: checkTput},
	"ss": {flags: "-tulnpaxHW46seimo --tcp --udp --listening --numeric --processes --all"}, "netstat": {flags: "-tulnpaxesrW", check: checkNetstat},
	"ip":   {exact: "-4 -6 -br -brief -c -color -j -json -o -s -d", operands: plain, check: checkIP},
	"jobs": {flags: "-lprs"}, "umask": {flags: "-S"}, "ulimit": {flags: "-aHSnsufvlmtc"}, "alias": {}, "hash": {}, "dirs": {flags: "-lpv"}, "times": {}, "history": {}, "help": {operands: plain},
	"go":   {operands: plain, check: checkGo},
	"read": {operands: plain, raw: true, check: checkRead},
	"set":  {operands: plain, raw: true, check: checkSet}, "xargs": {flags: xargsFlags, operands: plain, stops: true},
	"wait": {}, "exit": {operands: plain, most: 1}, "break": {}, "continue": {}, "return": {operands: plain, most: 1},
}
