package discover

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// UnknownKeys are the keys of a server's configuration that mean nothing here, sorted.
func UnknownKeys(configuration []byte) []string {
	var given map[string]json.RawMessage
	if json.Unmarshal(configuration, &given) != nil {
		return nil
	}
	var unknown []string
	for key := range given {
		if _, known := serverField(key); !known {
			unknown = append(unknown, key)
		}
	}
	slices.Sort(unknown)
	return unknown
}

// Misread says in the words of JSON why a server's configuration cannot be read; encoding/json speaks of Go.
func Misread(err error) string {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return err.Error()
	}
	if f, ok := serverField(wrong.Field); ok && wrong.Type.Kind() == reflect.String && f.Kind() != reflect.String {
		return fmt.Sprintf("each value in %s must be a string, got a JSON %s", wrong.Field, wrong.Value)
	}
	want := map[reflect.Kind]string{
		reflect.String: "a string", reflect.Bool: "true or false", reflect.Int64: "a whole number", reflect.Float64: "a number", reflect.Slice: "a list of strings",
	}[wrong.Type.Kind()]
	if want == "" {
		want = "an object"
	}
	return fmt.Sprintf("%s must be %s, got a JSON %s", wrong.Field, want, wrong.Value)
}

// serverField finds the type of what a key configures, in any case, as encoding/json reads it.
func serverField(key string) (reflect.Type, bool) {
	t := reflect.TypeFor[Server]()
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name != "" && strings.EqualFold(name, key) {
			return t.Field(i).Type, true
		}
	}
	return nil, false
}
