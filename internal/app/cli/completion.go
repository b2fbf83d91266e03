package cli

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/app/record"
	"github.com/adze-dev/adze/internal/app/session"
	"github.com/adze-dev/adze/internal/app/settings"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
	"github.com/adze-dev/adze/internal/engine/shellwords"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// Scripts for shells. They ask "adze __complete" for each word, so they never differ from the tables of commands and
// flags.
//
//go:embed completion
var completionScripts embed.FS

// shells are those with a script, and the script's name.
func shells() map[string]string {
	return map[string]string{"bash": "adze.bash", "zsh": "adze.zsh", "fish": "adze.fish", "powershell": "adze.ps1"}
}

func shellNames() []string { return []string{"bash", "zsh", "fish", "powershell"} }

func printCompletion(_ context.Context, env Env, _ *options, words []string) error {
	name, ok := shells()[words[0]]
	if !ok {
		return usagef("unknown shell %q\nUse one of: %s.", words[0], strings.Join(shellNames(), ", "))
	}
	script, err := completionScripts.ReadFile("completion/" + name)
	if err == nil {
		_, err = env.Stdout.Write(script)
	}
	return err
}

// noun is a kind of word that can be completed.
type noun uint8

const (
	noNoun noun = iota
	aFile
	aDirectory
	aSession
	aTool
	aServer
	aSetting
	aShell
	aMode
	aSandbox
	aCommand
)

// offer is a completion.
type offer struct{ value, about string }

// The shell completes these itself.
const (
	offerFiles       = ":files"
	offerDirectories = ":directories"
)

// completeWords prints completions of the last word, a line each: the word, a tab and what it is.
func completeWords(_ context.Context, env Env, _ *options, words []string) error {
	if len(words) == 0 {
		return usagef("usage: adze __complete SHELL -- WORD…")
	}
	shell, typed := words[0], words[1:]
	if shell == "bash" { // it splits words at = and :, so its script passes the line
		typed = splitLine(strings.Join(typed, " "))
		typed = typed[min(1, len(typed)):] // the program
	}
	if len(typed) == 0 {
		typed = []string{""}
	}
	current := typed[len(typed)-1]
	for _, o := range complete(env, typed[:len(typed)-1], current) {
		value := o.value
		if shell == "bash" && !strings.HasPrefix(value, ":") {
			value = value[strings.LastIndexAny(current, "=:")+1:]
		}
		about, _, _ := strings.Cut(o.about, "\n")
		if _, err := fmt.Fprintf(env.Stdout, "%s\t%s\n", tool.Visible(value), tool.Visible(about)); err != nil {
			return err
		}
	}
	return nil
}

// complete lists what the current word can be after these words.
func complete(env Env, before []string, current string) []offer {
	var words []string
	var needs *flag // its value is the next word
	verbatim := false
	table := flags(&options{})
	for _, w := range before {
		switch {
		case verbatim:
		case needs != nil:
			needs = nil
		case w == "--":
			verbatim = true
		case strings.HasPrefix(w, "-") && len(w) > 1:
			if f := find(table, w); f != nil && f.value != "" && f.optional == nil {
				needs = f
			}
		default:
			words = append(words, w)
		}
	}
	c, rest := closest(words)
	name, value, hasValue := strings.Cut(current, "=")
	switch {
	case verbatim:
		return []offer{{value: offerFiles}}
	case needs != nil:
		return starting(needs.offers(env, c), current, "")
	case hasValue && strings.HasPrefix(name, "-"):
		if f := find(table, name); f != nil && f.value != "" {
			return starting(f.offers(env, c), value, name+"=")
		}
		return nil
	case strings.HasPrefix(current, "-"):
		return starting(flagOffers(c), current, "")
	}
	out := starting(commandOffers(words), current, "")
	if c.name != "" && (len(rest) == 0 || strings.HasSuffix(c.words, "…")) {
		out = append(out, starting(nounOffers(env, c.noun), current, "")...)
	}
	return out
}

// closest is the command that words begin with; none of a name: the prompt.
func closest(words []string) (command, []string) {
	prompt := command{}
	for _, c := range commands() {
		names := strings.Fields(c.name)
		if len(names) == 0 {
			prompt = c
		} else if len(words) >= len(names) && slices.Equal(words[:len(names)], names) {
			return c, words[len(names):]
		}
	}
	return prompt, words
}

// starting are the offers with a prefix, written after another word.
func starting(all []offer, prefix, after string) []offer {
	var out []offer
	for _, o := range all {
		switch {
		case o.value == offerFiles || o.value == offerDirectories:
			out = append(out, o)
		case strings.HasPrefix(o.value, prefix):
			out = append(out, offer{after + o.value, o.about})
		}
	}
	return out
}

// commandOffers are the words that continue the name of a command.
func commandOffers(words []string) []offer {
	var out []offer
	for _, c := range commands() {
		names := strings.Fields(c.name)
		if len(names) <= len(words) || !slices.Equal(names[:len(words)], words) || c.hidden {
			continue
		}
		next := offer{names[len(words)], c.about}
		if len(names) > len(words)+1 {
			next.about = cmp.Or(groupAbout(next.value), c.about)
		}
		if !slices.ContainsFunc(out, func(o offer) bool { return o.value == next.value }) {
			out = append(out, next)
		}
	}
	return out
}

func flagOffers(c command) []offer {
	var out []offer
	for _, f := range flags(&options{}) {
		if f.hidden || !f.known(c.key()) {
			continue
		}
		out = append(out, offer{"--" + f.long, cmp.Or(f.abouts[c.key()], f.about)})
	}
	return out
}

// offers are the values that a flag can have.
func (f *flag) offers(env Env, c command) []offer {
	var out []offer
	for _, v := range f.among {
		out = append(out, offer{value: v})
	}
	kind := f.noun
	if own, ok := f.nouns[c.key()]; ok {
		kind = own
	}
	return append(out, nounOffers(env, kind)...)
}

// nounOffers are the things of a kind.
func nounOffers(env Env, n noun) []offer {
	var out []offer
	switch n {
	case aFile:
		return []offer{{value: offerFiles}}
	case aDirectory:
		return []offer{{value: offerDirectories}}
	case aShell:
		for _, name := range shellNames() {
			out = append(out, offer{value: name})
		}
	case aMode:
		for _, m := range permission.Modes() {
			out = append(out, offer{value: m.String()})
		}
	case aSandbox:
		for _, m := range append(sandbox.Modes(), sandbox.Trial) {
			out = append(out, offer{value: string(m)})
		}
	case aCommand:
		return commandOffers(nil)
	case aSetting:
		for _, k := range settings.Describe() {
			out = append(out, offer{k.Key, k.About})
		}
	case aSession:
		directory, err := workingDirectory(env, &options{})
		if err != nil {
			return nil
		}
		found, err := record.Of(directory).Recorded(false)
		if err != nil {
			return nil
		}
		for _, s := range found {
			out = append(out, offer{s.ID, cmp.Or(s.Title, "(no prompt)")})
		}
	case aTool, aServer:
		return sessionOffers(env, n)
	}
	return out
}

// sessionOffers are the names of tools and MCP servers. No server is started.
func sessionOffers(env Env, n noun) []offer {
	env.notify = func(string) {}
	s, err := openSession(env, &options{}, session.Options{SingleCall: true})
	if err != nil {
		return nil
	}
	defer closeSession(env, s)
	var out []offer
	if n == aTool {
		for _, d := range s.Executor.Registry.Declarations(nil) {
			out = append(out, offer{d.Name, d.Brief()})
		}
		return out
	}
	aliases, _ := s.Outside.Configured()
	for _, alias := range aliases {
		out = append(out, offer{value: alias})
	}
	return out
}

// splitLine splits a command line like a shell does, up to the cursor: the last word may be empty or have an open
// quote.
func splitLine(line string) []string {
	l := shellwords.Split(line, true)
	if !l.InWord {
		l.Words = append(l.Words, "")
	}
	return l.Words
}
