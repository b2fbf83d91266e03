package shell

import (
	"slices"
	"strings"
	"sync"
)

// heldSpecs are further commands that only look, or that can do no more than that in a sandbox that enforces it.
var heldSpecs = map[string]spec{
	"read":     {flags: "-r -s -d: -n: -N: -t: -u: -p: -a -e", operands: plain, check: checkHeldRead},
	"mapfile":  {flags: "-t -d: -n: -s: -u:", operands: plain, check: checkHeldRead},
	"pushd":    {flags: "-n", operands: listed, most: 1},
	"popd":     {flags: "-n", operands: plain, most: 1},
	"cd":       {flags: "-LPe", operands: listed, most: 1},
	"shopt":    {flags: "-s -u -p -q", operands: plain, check: checkShopt},
	"((":       {operands: plain, raw: true},
	"gofmt":    {flags: "-l -d -s -e -r:", operands: contents},
	"lsof":     {flags: "-nPtlRbwaOU -i? -s? -p: -u: -c: -d:", operands: listed},
	"less":     {flags: "-NSRFXinMKr -p:", operands: contents},
	"more":     {flags: "-dlfpcsu", operands: contents},
	"bat":      {flags: batFlags, operands: contents},
	"batcat":   {flags: batFlags, operands: contents},
	"yq":       {flags: "-rcMCPneSsj -o: -p: -I: --output-format: --input-format: --raw-output --compact-output --null-input --prettyPrint --no-colors --unwrapScalar? --indent: --exit-status --no-doc --sort-keys", operands: program},
	"tokei":    {flags: "-fC -e: -t: -s: -o: --files --exclude: --type: --types: --sort: --output: --compact --hidden --no-ignore", operands: listed},
	"cloc":     {flags: "--by-file --json --csv --md --yaml --quiet --hide-rate --vcs: --exclude-dir: --exclude-ext: --include-lang: --include-ext: --exclude-lang: --not-match-d: --not-match-f: --match-f: --match-d: --fullpath --sum-one", operands: listed},
	"scc":      {flags: "-i: -x: -s: -f: -w -c -d --by-file --no-cocomo --no-complexity --exclude-dir: --include-ext: --exclude-ext: --format: --sort: --no-min-gen --wide --no-duplicates", operands: listed},
	"eza":      {flags: ezaFlags, operands: listed},
	"exa":      {flags: ezaFlags, operands: listed},
	"ag":       {flags: "-acglinopQrRsSvwz0 -A: -B: -C: -G: -m: -A -B -C --hidden --ignore: --nocolor --nogroup --nofilename --column --count --files-with-matches --ignore-case --literal --depth: --stats", operands: pattern},
	"zgrep":    {flags: grepFlags, operands: pattern, check: checkGrep},
	"zless":    {operands: contents},
	"hexyl":    {flags: "-n: -s: -c: -p --length: --skip: --plain", operands: contents},
	"man":      {flags: "-k -f -a", operands: listed},
	"vmstat":   {flags: "-asdSwtn", operands: plain, check: checkNumbers},
	"pstree":   {flags: "-aclpnuhAgsStT", operands: plain},
	"findmnt":  {flags: "-lnrJDAT -o: -t: --json --list --output:", operands: listed},
	"mount":    {flags: "-l"},
	"namei":    {flags: "-lmovx", operands: listed},
	"getfacl":  {flags: "-adct", operands: listed},
	"diffstat": {flags: "-lkpqsuw -n: -p:", operands: contents},
	"top":      {flags: "-bcHi1S -n: -d: -o: -p: -u: -U: -w: -E: -e:", check: checkTop},
	"shellcheck": {flags: "-ax -f: -s: -S: -e: -i: -o: -C? -W: --format: --shell: --severity: --exclude: --include: --enable: --color? --norc --external-sources --wiki-link-count: --check-sourced",
		operands: contents},
}

const (
	batFlags = "-npPAfuS -l: -r: -H: --plain --paging: --color: --style: --language: --line-range: --highlight-line: --number --decorations: --theme: --wrap: --no-pager --show-all"
	ezaFlags = "-1laAdRTFgGhHimnrsStuUxX@ -L: -I: -s: --long --all --tree --level: --icons? --git --git-ignore --ignore-glob: --sort: --reverse --header --color? --no-user --no-time --no-permissions --no-filesize --group-directories-first --only-dirs --recurse --oneline"
)

// heldSubcommands are tools whose looking subcommands run in the sandbox. None of these reaches a server.
var heldSubcommands = map[string]map[string]spec{
	"npm": {
		"ls": npmList, "list": npmList, "ll": npmList, "la": npmList, "explain": npmList, "why": npmList, "query": npmList,
		"root": npmList, "prefix": npmList, "bin": npmList,
		"pkg":    {flags: npmFlags, operands: plain, check: checkSub("get")},
		"config": {flags: npmFlags, operands: plain, check: checkSub("get", "list", "ls")},
	},
	"pnpm": {"ls": npmList, "list": npmList, "why": npmList, "root": npmList, "bin": npmList},
	"pip":  pipSubcommands, "pip3": pipSubcommands,
	"kubectl": {"version": {flags: "--client -o: --output:", check: func(a *args) string {
		return when(!a.has("--client"), "kubectl version without --client contacts a server")
	}}},
	"cargo": {"tree": cargoLook, "metadata": cargoLook, "pkgid": cargoLook, "locate-project": {flags: "--message-format: --workspace", operands: plain}},
}

const npmFlags = "-galps -w: --depth: --all --json --long --parseable --global --prod --production --dev --omit: --include: --workspaces --workspace: --silent --link --only: --loglevel: --no-color --no-audit --no-fund"

var (
	npmList        = spec{flags: npmFlags, operands: plain}
	pipSubcommands = map[string]spec{
		"list": pipList, "freeze": pipList, "show": pipList, "check": pipList, "inspect": pipList,
		"config": {flags: "-v", operands: plain, check: checkSub("list", "get", "debug")},
	}
	pipList   = spec{flags: "-vlefq --format: --local --user --not-required --exclude: --editable --exclude-editable --files --verbose --quiet --path@ --disable-pip-version-check --no-color --all", operands: plain}
	cargoLook = spec{flags: "-eifpq -i: -p: --offline --locked --frozen --format-version: --no-deps --manifest-path@ --depth: --invert? --package: --edges: --duplicates --all-features --features: --target: --workspace --prefix: --color: -d",
		operands: plain, check: func(a *args) string {
			return when(!a.has("--offline", "--frozen", "--locked"), "cargo may download packages without --offline")
		}}
)

// heldSets are the parsed flags of heldSpecs, of heldSubcommands ("npm ls") and of specs.
var heldSets = sync.OnceValue(func() map[string]flagSet {
	sets := map[string]flagSet{}
	for name, set := range flagSets() {
		sets[name] = set
	}
	for name, s := range heldSpecs {
		sets[name] = parseFlags(s.flags)
	}
	for name, subs := range heldSubcommands {
		for sub, s := range subs {
			sets[name+" "+sub] = parseFlags(s.flags)
		}
	}
	return sets
})

// heldSubcommand judges a tool by its subcommand, which must be the first word.
func (c *Command) heldSubcommand(name string, subs map[string]spec, words []Word) Proof {
	if len(words) == 0 || words[0].Kind != Literal {
		return Proof{Why: "the " + name + " subcommand can't be determined"}
	}
	s, ok := subs[words[0].Text]
	if !ok {
		return unlisted(name + " " + words[0].Text)
	}
	return c.heldSpec(name, name+" "+words[0].Text, s, words[1:])
}

// checkTop: without -b it waits for keys.
func checkTop(a *args) string { return when(!a.has("-b"), "top without -b is interactive") }

// checkShopt: options that change what patterns stand for.
func checkShopt(a *args) string {
	for _, w := range a.operands {
		if !slices.Contains([]string{"globstar", "nullglob", "dotglob", "extglob", "failglob", "nocaseglob"}, w.Text) {
			return "shopt " + w.Text + " is not on the read-only list"
		}
	}
	return ""
}

// goFlags are the flags of go's looking subcommands, without the minus; a colon: with a value.
var goFlags = map[string]string{
	"list":    "m: m f: json deps test e find compiled tags: mod: C:",
	"vet":     "v n x json tags: mod: c: C: " + vetAnalyzers,
	"env":     "json changed",
	"doc":     "all short src u c cmd C:",
	"version": "m v",
	"mod":     "m v go: C:",
	"help":    "",
}

const vetAnalyzers = "all appends asmdecl assign atomic bools buildtag cgocall composites copylocks defers directive errorsas framepointer httpresponse ifaceassert loopclosure " +
	"lostcancel nilfunc printf shift sigchanyzer slog stdmethods stdversion stringintconv structtag testinggoroutine tests timeformat unmarshal unreachable unsafeptr unusedresult waitgroup"

// heldGo judges go: it compiles at most, into a cache of the sandbox.
func (c *Command) heldGo(words []Word) Proof {
	if len(words) == 0 || words[0].Kind != Literal {
		return Proof{Why: "the go subcommand can't be determined"}
	}
	sub := words[0].Text
	known, ok := goFlags[sub]
	if !ok {
		return unlisted("go " + sub)
	}
	flags := strings.Fields(known)
	var ts []Touch
	var operands []string
	for i := 1; i < len(words); i++ {
		w := words[i]
		if !strings.HasPrefix(w.Text, "-") || w.Text == "-" {
			if operands = append(operands, w.Text); w.Kind == Literal && sub != "env" && sub != "help" {
				ts = append(ts, Touch{Path: strings.TrimSuffix(w.Text, "/..."), Names: true})
			}
			continue
		}
		name, _, attached := strings.Cut(strings.TrimPrefix(w.Text[1:], "-"), "=")
		switch {
		case slices.Contains(flags, name):
		case !slices.Contains(flags, name+":"):
			return Proof{Why: "go " + sub + " " + w.Text + " is not on the read-only list"}
		case !attached:
			if i++; name == "C" && i < len(words) && words[i].Kind == Literal {
				ts = append(ts, Touch{Path: words[i].Text, Names: true})
			}
		}
	}
	if sub == "mod" && (len(operands) == 0 || !slices.Contains([]string{"graph", "why", "verify"}, operands[0])) {
		return unlisted(strings.TrimSpace("go mod " + strings.Join(operands[:min(1, len(operands))], "")))
	}
	return c.held(ts)
}
