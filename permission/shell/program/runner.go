// Package program is what rules need to know of programs: which run others, and what they do with their words and
// files.
package program

import (
	"cmp"
	_ "embed"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/adze-dev/adze/internal/engine/table"
	"github.com/adze-dev/adze/permission/shell/bash"
)

//go:embed runners.txt
var runnersText string

// Runner is what runners.txt says of a command. The fields are described there.
type Runner struct {
	role
	running
	spelling
	handling
	Values, Mark, Writes                                                    string
	Long, Bare, Text, Exec, Runs, Before, Renamed, Publishes                []string
	Reads, Changes, Shows, Unless, Into, Deep, Lists, Takes, Network, Edits []string
	Same                                                                    [][]string
	Operands                                                                int
}

// role is what a command may do with its words: at most one of these. Without any, each word may be run.
type role struct{ Data, Own, Interprets bool }

// running is how a command runs another one.
type running struct{ Wraps, Assigns, Adds, May, Joined, First, Only, Direct, Input bool }

// spelling is how the words of a command are written.
type spelling struct{ Subcommands, Dashed, Bundled, Program, Shell bool }

// handling is what a command does with files.
type handling struct{ Copies, Renames, Fetches, Strips, Here, Safe bool }

var runners = sync.OnceValue(func() map[string]Runner { return table.Must(parseRunners(runnersText, 100)) })

// RunnerOf is what is known of a name; the zero value is nothing.
func RunnerOf(name string) Runner { return runners()[name] }

// parseRunners reads the text of runners.txt, which has at least a number of lines: NAMES: ATTRIBUTES.
func parseRunners(text string, least int) (map[string]Runner, error) {
	runners := map[string]Runner{}
	lines, err := table.Lines(text, least)
	for _, line := range lines {
		names, attributes, found := strings.Cut(line.Text, ": ")
		if !found {
			return nil, fmt.Errorf("line %d: not NAMES: ATTRIBUTES", line.Number)
		}
		var r Runner
		for a := range strings.SplitSeq(attributes, " ") {
			if !SetField(reflect.ValueOf(&r).Elem(), a) {
				return nil, fmt.Errorf("line %d: unknown attribute %q", line.Number, a)
			}
		}
		r.Data = (r.Data || r.Wraps) && !r.Own && !r.Interprets
		for _, name := range strings.Split(names, ", ") {
			if _, seen := runners[name]; seen || name == "" {
				return nil, fmt.Errorf("line %d: %q is empty or already in the table", line.Number, name)
			}
			runners[name] = r
		}
	}
	return runners, err
}

// SkipOptions returns the words after the options of a wrapper. unsure means that an option is unknown.
func SkipOptions(c *bash.Command, w Runner) (rest []bash.Word, unsure bool) {
	words := c.Words[1:]
	for i := 0; i < len(words); i++ {
		s := words[i].Text
		switch {
		case s == "-" && c.Base() == "env": // another -i
		case words[i].Kind != bash.Literal || len(s) < 2 || s[0] != '-':
			return words[i:], unsure
		case s == "--":
			return words[i+1:], unsure
		case strings.HasPrefix(s, "--"):
			name, _, attached := strings.Cut(s, "=")
			if slices.Contains(w.Long, name) && !attached {
				i++
			} else if !attached && !slices.Contains(w.Bare, name) {
				unsure = true
			}
		default:
			// The first letter that takes a value takes the rest of the word, or the next word.
			at := strings.IndexAny(s[1:], w.Values+"\x00")
			if at >= 0 && w.Values != "" && at+2 == len(s) {
				i++
			} else if at < 0 && strings.Trim(s[1:], "0123456789") != "" {
				unsure = true
			}
		}
	}
	return nil, unsure
}

// OptionValues are the values of options, in their words or the next ones.
func OptionValues(words []bash.Word, options []string) (values []bash.Word) {
	for i, w := range words[1:] {
		for _, option := range options {
			short := len(option) == 2
			switch {
			case w.Text == option || short && Cluster(w.Text) && strings.HasSuffix(w.Text, option[1:]):
				if i+2 < len(words) {
					values = append(values, words[i+2])
				}
			case short && strings.HasPrefix(w.Text, option):
				values = append(values, bash.Word{Text: w.Text[2:], Kind: w.Kind})
			case !short && strings.HasPrefix(w.Text, option+"="):
				values = append(values, bash.Word{Text: w.Text[len(option)+1:], Kind: w.Kind})
			}
		}
	}
	return values
}

// SplitGit splits the words of git: its name with its own options, and the subcommand with its words.
func SplitGit(c *bash.Command) (options, rest []bash.Word) {
	n := 1
	for ; n < len(c.Words) && strings.HasPrefix(c.Words[n].Text, "-") && c.Words[n].Text != "--version"; n++ {
		if n+1 < len(c.Words) && slices.Contains(RunnerOf("git").Long, c.Words[n].Text) {
			n++
		}
	}
	return c.Words[:n], c.Words[n:]
}

// Cluster reports whether s is -abc.
func Cluster(s string) bool {
	return len(s) > 1 && s[0] == '-' && strings.Trim(s[1:],
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// Replaced returns the text that xargs replaces with its input.
func Replaced(c *bash.Command) string {
	for _, w := range c.Words {
		if text, ok := strings.CutPrefix(w.Text, "--replace="); ok {
			return text
		}
	}
	return append(OptionValues(c.Words, []string{"-I", "-J"}), bash.Word{Text: "{}"})[0].Text
}

// RunsOf returns what is known of the command, without a version number in its name.
func RunsOf(c *bash.Command) Runner {
	return RunnerOf(cmp.Or(strings.TrimRight(c.Base(), ".0123456789"), c.Base()))
}

// StartsShell reports whether a command that has commands of its own is given a shell among its words: docker exec -i c
// sh.
func StartsShell(c *bash.Command) bool {
	return RunsOf(c).Own && slices.ContainsFunc(c.Words,
		func(w bash.Word) bool { return RunnerOf(path.Base(w.Text)).Shell })
}

// ReadsProgram reports whether an interpreter is given no program in its words: it reads one from its input.
func ReadsProgram(c *bash.Command) bool {
	return RunsOf(c).Program && !slices.ContainsFunc(c.Words[1:], func(w bash.Word) bool {
		return w.Kind != bash.Literal || w.Text != "-" &&
			(len(w.Text) < 2 || w.Text[0] != '-' || strings.ContainsAny(w.Text, "cemrV"))
	})
}

// IsLetter reports whether c can be part of a name in a program.
func IsLetter(c byte) bool {
	return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9'
}

// ExecEnd returns the end of the command after an -exec at i.
func ExecEnd(words []bash.Word, i int) int {
	end := i + 1
	for end < len(words) && words[end].Text != ";" &&
		!(words[end].Text == "+" && end > 0 && words[end-1].Text == "{}") {
		end++
	}
	return end
}

// Always stands for no flag in a list of flags: it is always given.
const Always = ""

// SetField sets the field with the name of an attribute: NAME, NAME=TEXT, NAME=NUMBER or NAME=A,B. A list without a
// value is Always.
func SetField(entry reflect.Value, attribute string) bool {
	name, value, valued := strings.Cut(attribute, "=")
	field := entry.FieldByNameFunc(func(f string) bool { return name == strings.ToLower(f) })
	if !field.CanSet() {
		return false
	}
	switch to := field.Addr().Interface().(type) {
	case *bool:
		*to = true
		return !valued
	case *string:
		*to = value
		return value != ""
	case *int:
		n, err := strconv.Atoi(value)
		*to = n
		return err == nil
	case *[]string:
		*to = strings.Split(value, ",")
	case *[][]string:
		*to = append(*to, strings.Split(value, ","))
	default:
		return false
	}
	return true
}
