package shell

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed runners.txt
var runnersText string

// wrapper says how a command that runs another is written. The fields are described in runners.txt.
type wrapper struct {
	wraps                                                bool
	values                                               string
	long, bare, text                                     []string
	operands                                             int
	assigns, adds, may, joined, first, only, direct, own bool
}

// runs says what a command may do with the words it is given, so far as a deny or ask rule wants to know: whether one
// of them may be the command that the rule means.
type runs byte

const (
	anything   runs = iota // nothing is known of it: each of its words may be run
	data                   // its words are names and texts; what wrappers run is read on its own
	own                    // its words are commands of its own, up to one such as run or exec
	interprets             // it may run the text in its words, or on its input
)

// runnerTable is what runners.txt says, by name.
type runnerTable struct {
	wrappers map[string]wrapper
	runs     map[string]runs
}

var runners = sync.OnceValue(func() runnerTable {
	table, err := parseRunners(runnersText)
	if err != nil {
		panic(err) // a test reads the same text
	}
	return table
})

// wrapperOf is the wrapper of a name; the zero value wraps nothing.
func wrapperOf(name string) wrapper { return runners().wrappers[name] }

// parseRunners reads the text of runners.txt. The words of read-only commands are data, unless it says otherwise.
func parseRunners(text string) (runnerTable, error) {
	t := runnerTable{map[string]wrapper{}, map[string]runs{"git": data}}
	for name := range readOnly().plain {
		if !strings.Contains(name, " ") && name != "hash" { // hash -p lets a name mean another program
			t.runs[name] = data
		}
	}
	kinds := map[string]runs{"wraps": data, "data": data, "own": own, "interprets": interprets}
	for n, line := range strings.Split(text, "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		names, attributes, _ := strings.Cut(line, ": ")
		words := strings.Fields(attributes)
		kind, known := kinds[words[0]]
		w := wrapper{wraps: words[0] == "wraps"}
		if !known || slices.ContainsFunc(words[1:], func(a string) bool { return !w.attribute(a) }) {
			return t, fmt.Errorf("line %d: unknown attribute in %s", n+1, attributes)
		}
		for _, name := range strings.Split(names, ", ") {
			if t.runs[name] = kind; w.wraps {
				t.wrappers[name] = w
			}
		}
	}
	return t, nil
}

// attribute sets a field by its name in runners.txt.
func (w *wrapper) attribute(a string) bool {
	name, value, _ := strings.Cut(a, "=")
	switches := map[string]*bool{
		"assigns": &w.assigns, "adds": &w.adds, "may": &w.may, "joined": &w.joined, "first": &w.first, "only": &w.only, "direct": &w.direct, "own": &w.own,
	}
	lists := map[string]*[]string{"long": &w.long, "bare": &w.bare, "text": &w.text}
	switch {
	case switches[name] != nil:
		*switches[name] = true
	case lists[name] != nil:
		*lists[name] = strings.Split(value, ",")
	case name == "values":
		w.values = value
	case name == "operands":
		w.operands, _ = strconv.Atoi(value)
	default:
		return false
	}
	return true
}
