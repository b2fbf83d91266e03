package program

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// readTable reads programs.txt or runners.txt: lines of NAMES: ATTRIBUTES make an entry each. detail takes in the indented
// lines below it.
func readTable[T any](text string, add func(names []string, entry *T), detail func(entry *T, line string)) error {
	var last *T
	for n, line := range strings.Split(text, "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		if line[0] == '\t' {
			detail(last, line[1:])
			continue
		}
		last = new(T)
		names, attributes, _ := strings.Cut(line, ": ")
		for _, a := range strings.Fields(attributes) {
			if !setField(reflect.ValueOf(last).Elem(), a) {
				return fmt.Errorf("line %d: unknown attribute %s", n+1, a)
			}
		}
		add(strings.Split(names, ", "), last)
	}
	return nil
}

// must is a table that was read without an error: a test reads the same text.
func must[T any](table T, err error) T {
	if err != nil {
		panic(err)
	}
	return table
}

// Always stands for no flag in a list of flags: it is always given.
const Always = ""

// setField sets the field with the name of an attribute: NAME, NAME=TEXT, NAME=NUMBER or NAME=A,B. A list without a value is
// Always.
func setField(entry reflect.Value, attribute string) bool {
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
	case *int:
		*to, _ = strconv.Atoi(value)
	case *[]string:
		*to = strings.Split(value, ",")
	case *[][]string:
		*to = append(*to, strings.Split(value, ","))
	default:
		return false
	}
	return true
}
