package program

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/adze-dev/adze/internal/table"
)

// readTable reads runners.txt: lines of NAMES: ATTRIBUTES make an entry each.
func readTable[T any](text string, least int, add func(names []string, entry *T) error) error {
	lines, err := table.Lines(text, least)
	if err != nil {
		return err
	}
	for _, line := range lines {
		if err := readEntry(line.Text, new(T), add); err != nil {
			return fmt.Errorf("line %d: %w", line.Number, err)
		}
	}
	return nil
}

// readEntry reads NAMES: ATTRIBUTES.
func readEntry[T any](line string, entry *T, add func(names []string, entry *T) error) error {
	text, attributes, found := strings.Cut(line, ": ")
	names := strings.Split(text, ", ")
	if !found || slices.Contains(names, "") {
		return errors.New("not NAMES: ATTRIBUTES")
	}
	for a := range strings.SplitSeq(attributes, " ") {
		if !setField(reflect.ValueOf(entry).Elem(), a) {
			return fmt.Errorf("unknown attribute %q", a)
		}
	}
	return add(names, entry)
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
