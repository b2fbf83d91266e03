package configimport

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// serverKey begins the keys of MCP servers.
const serverKey = "mcpServers."

// sameKeys are the keys of servers that Adze has, too.
const sameKeys = "command args cwd env url httpUrl type headers timeout startTimeout startup_timeout_sec description " +
	"includeTools excludeTools"

// serverKeys has Adze's names for other keys, each before those of other agents; "-": none is needed.
const serverKeys = `
httpUrl codex.url opencode.url
env environment
headers http_headers env_http_headers bearer_token_env_var
startTimeout opencode.timeout
includeTools enabled_tools
excludeTools disabled_tools
- enabled disabled opencode.type`

// servers plans MCP servers.
func servers(r *reader, _ string, value any) {
	all, _ := value.(object)
	for _, alias := range slices.Sorted(maps.Keys(all)) {
		given, ok := all[alias].(object)
		if words, list := given["command"].([]any); list && len(words) > 0 { // opencode's
			given["command"], given["args"] = words[0], words[1:]
		}
		switch at := serverKey + alias; {
		case !ok:
			r.left(at, "not an object")
		case given["enabled"] == false || given["disabled"] == true:
			r.left(at, "it is turned off")
		case mayHaveKey(given):
			r.left(at, "its command or URL may have a key or token. Add it with adze mcp add")
		default:
			r.changes[at] = r.server(at, alias, given)
		}
	}
}

// mayHaveKey reports whether a command or URL has an option for a secret, or an address with a user or a query.
func mayHaveKey(server object) bool {
	secret := regexp.MustCompile(`(?i)(?:token|secret|passw|key|auth|credential)[^=]*(?:=|$)|://[^/]*@|://.*\?`)
	args, _ := server["args"].([]any)
	for _, word := range append(slices.Clone(args), server["command"], server["url"], server["httpUrl"]) {
		if text, _ := word.(string); secret.MatchString(text) {
			return true
		}
	}
	return false
}

// server plans a server.
func (r *reader) server(at, alias string, given object) object {
	out := object{}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		value, to := given[name], cmp.Or(rowOf(serverKeys, r.agent+"."+name), rowOf(serverKeys, name))
		if to == "" && rowOf(sameKeys, name) != "" {
			to = name
		}
		if name == "bearer_token_env_var" {
			value = object{"Authorization": value}
		}
		values, nested := value.(object)
		switch {
		case nested && (to == "env" || to == "headers"):
			if out[to] == nil {
				out[to] = object{}
			}
			for _, one := range slices.Sorted(maps.Keys(values)) {
				out[to].(object)[one] = r.reference(at, alias, name, one, fmt.Sprint(values[one]))
			}
		case to == "":
			r.left(at+"."+name, "no counterpart")
		case to != "-":
			out[to] = value
		}
	}
	return out
}

// reference returns a reference to a variable for the value of a variable or a header, because that may be secret.
func (r *reader) reference(at, alias, key, name, text string) string {
	known := regexp.MustCompile(`^(Bearer )?(?:\$\{?|\{env:)([A-Za-z_]\w*)\}?$`)
	switch key {
	case "bearer_token_env_var":
		return "Bearer $" + text
	case "env_http_headers":
		return "$" + text
	}
	if known.MatchString(text) {
		return known.ReplaceAllString(text, "$1$$$2")
	}
	variable := name
	if strings.HasSuffix(key, "headers") {
		variable = strings.ToUpper(regexp.MustCompile(`\W`).ReplaceAllString(alias+"_"+name, "_"))
	}
	r.left(at+"."+key+"."+name, "its value isn't copied. Set the variable "+variable)
	if strings.HasPrefix(text, "Bearer ") {
		return "Bearer $" + variable
	}
	return "$" + variable
}
