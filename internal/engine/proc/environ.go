package proc

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/engine/workspace/names"
)

// forced are the variables of every command: no prompts for a user, no colors, and a sign that Adze runs the command.
var forced = []string{
	"ADZE=1",
	"TERM=dumb",
	"PAGER=cat", "GIT_PAGER=cat", "MANPAGER=cat", "GH_PAGER=cat", "SYSTEMD_PAGER=cat", "BAT_PAGER=cat",
	"DELTA_PAGER=cat", "AWS_PAGER=",
	// true leaves the file unchanged: an empty message stops a commit, a proposed one is used.
	"EDITOR=true", "VISUAL=true", "GIT_EDITOR=true", "GIT_SEQUENCE_EDITOR=true",
	"GIT_TERMINAL_PROMPT=0", "GCM_INTERACTIVE=never",
	"DEBIAN_FRONTEND=noninteractive", "PIP_NO_INPUT=1",
}

// Environ returns base, as from os.Environ, as a command gets it: without the variables that Credential matches, except
// those that pass names (exactly), and with pagers, editors and prompts turned off. Keys of model providers are removed
// even if pass names them.
func Environ(base, pass []string) []string {
	set := map[string]bool{}
	for _, kv := range forced {
		set[name(kv)] = true
	}
	out := make([]string, 0, len(base)+len(forced))
	for _, kv := range base {
		n := name(kv)
		if set[n] || modelKey(n) || Credential(n) && !slices.Contains(pass, n) {
			continue
		}
		out = append(out, kv)
	}
	return append(out, forced...)
}

// Credential reports whether a variable's name is that of a credential.
//
// TOKEN, SECRET, PASSWORD, PASSWD, PASSPHRASE and CREDENTIAL count anywhere in a name, in any case (GITHUB_TOKEN,
// PGPASSWORD, authToken), but not in TOKENIZER. KEY is part of too many words, so it must be a separate word or end a
// well-known one: API_KEY, aws-access-key-id, sshKey and APIKEY count; MONKEY, KEYBOARD, KEYMAP and
// GNOME_KEYRING_CONTROL don't. PWD counts after another word (MYSQL_PWD), not alone or in OLDPWD.
func Credential(variable string) bool {
	words := words(variable)
	whole := strings.ReplaceAll(strings.Join(words, "_"), "TOKENIZER", "")
	for _, w := range []string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL"} {
		if strings.Contains(whole, w) || strings.Contains(strings.ReplaceAll(whole, "_", ""), w) {
			return true
		}
	}
	for i, w := range words {
		switch {
		case w == "KEY", w == "KEYS", w == "CREDS", w == "PWD" && i > 0:
			return true
		}
		for _, end := range []string{"APIKEY", "ACCESSKEY", "PRIVATEKEY", "AUTHKEY", "SSHKEY", "APIKEYS"} {
			if strings.HasSuffix(w, end) {
				return true
			}
		}
	}
	return false
}

// providers are the first words of variables with model keys.
var providers = []string{
	"OPENAI", "ANTHROPIC", "CLAUDE", "GEMINI", "DASHSCOPE", "QWEN", "BAILIAN", "MODELSCOPE", "DEEPSEEK", "MISTRAL",
	"GROQ",
	"OPENROUTER", "XAI", "TOGETHER", "FIREWORKS", "COHERE", "PERPLEXITY", "CEREBRAS", "MOONSHOT", "ZHIPU", "ZAI",
	"MINIMAX", "ADZE",
}

// modelKey reports whether a variable is the key of a model provider, which no command ever gets.
func modelKey(variable string) bool {
	if !Credential(variable) {
		return false
	}
	w := words(variable)
	if slices.Contains(providers, w[0]) || len(w) > 1 && w[0] == "AZURE" && w[1] == "OPENAI" {
		return true
	}
	switch strings.ToUpper(variable) {
	case "GOOGLE_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY":
		return true
	}
	return false
}

// words splits a name at everything that isn't a letter and where a lower-case letter is followed by a capital, and
// returns the parts in capitals.
func words(variable string) []string {
	var b strings.Builder
	var before rune
	for _, c := range variable {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter || before >= 'a' && before <= 'z' && c >= 'A' && c <= 'Z' {
			b.WriteByte(' ')
		}
		if letter {
			b.WriteRune(c)
		}
		before = c
	}
	w := strings.Fields(strings.ToUpper(b.String()))
	if len(w) == 0 {
		return []string{""}
	}
	return w
}

func name(kv string) string {
	n, _, _ := strings.Cut(kv, "=")
	return n
}

// Program finds a program in the directories of a PATH; "": it isn't there. Programs in a root, and links that lead
// there, are skipped.
func Program(name, path string, roots []string) string {
	for _, dir := range filepath.SplitList(path) {
		file := filepath.Join(dir, name)
		if filepath.IsAbs(name) {
			file = name
		}
		if _, err := exec.LookPath(file); err != nil || !filepath.IsAbs(file) {
			continue
		}
		_, own := names.Within(file, roots)
		real, err := filepath.EvalSymlinks(file)
		if _, leads := names.Within(real, roots); err == nil && !own && !leads {
			return file
		}
	}
	return ""
}
