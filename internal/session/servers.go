package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/adze-dev/adze/discover"
	"github.com/adze-dev/adze/internal/settings"
)

// configured are the servers that settings name, with the values of variables filled in, and what is wrong with others.
func configured(env Env, set settings.MCP) (servers map[string]discover.Server, problems []string) {
	servers = map[string]discover.Server{}
	for _, alias := range slices.Sorted(maps.Keys(set.Servers)) {
		written := set.Servers[alias]
		var server discover.Server
		if err := json.Unmarshal(written.JSON, &server); err != nil {
			problems = append(problems, fmt.Sprintf("MCP server %s: %s: %s", alias, written.From, misread(err)))
			continue
		}
		servers[alias] = server.Expand(env.variable)
	}
	if line := set.ServerCommand; line != "" {
		words, err := discover.Words(line)
		_, taken := servers["mcp"]
		switch {
		case err != nil:
			problems = append(problems, fmt.Sprintf("MCP server mcp: %v", err))
		case taken:
			problems = append(problems, "mcp.mcpServerCommand is ignored: mcpServers has a server named mcp")
		case len(words) > 0:
			servers["mcp"] = discover.Server{Command: words[0], Args: words[1:]}.Expand(env.variable)
		}
	}
	var allowed []string
	if set.Allowed != nil {
		allowed = append([]string{}, settings.Texts(set.Allowed)...)
	}
	return discover.Select(servers, allowed, settings.Texts(set.Excluded)), problems
}

// misread says what is wrong with a configuration in the words of JSON.
func misread(err error) string {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return err.Error()
	}
	want := map[reflect.Kind]string{
		reflect.String: "a string", reflect.Bool: "true or false", reflect.Int64: "a whole number", reflect.Slice: "a list of strings",
	}[wrong.Type.Kind()]
	if want == "" {
		want = "an object"
	}
	return fmt.Sprintf("%s must be %s, got a JSON %s", wrong.Field, want, wrong.Value)
}
