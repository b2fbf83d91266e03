package configimport

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// servers begins the keys of MCP servers.
const servers = "mcpServers."

// sameKeys are the keys of a server that Adze has, too, and its names for them.
var sameKeys = map[string]string{
	"command": "command", "args": "args", "cwd": "cwd", "url": "url", "httpUrl": "httpUrl", "type": "type",
	"timeout": "timeout", "description": "description", "includeTools": "includeTools",
	"enabled_tools": "includeTools", "excludeTools": "excludeTools", "disabled_tools": "excludeTools",
	"startup_timeout_sec": "startupTimeoutSec", "env": "env", "environment": "env", "headers": "headers",
	"http_headers": "headers", "env_http_headers": "headers",
}

var (
	reference = regexp.MustCompile(`^(?:Bearer )?(?:\$\{?|\{env:)([A-Za-z_][A-Za-z0-9_]*)\}?$`)
	odd       = regexp.MustCompile(`[^A-Z0-9]+`)
	// secretWord is in an option before a secret, in one with it, or in an address with one.
	secretWord = regexp.MustCompile(`(?i)(?:token|secret|passw|key|auth|credential)[^=]*(?:=|$)|://[^/]*@|://.*\?`)
)

// servers plans MCP servers. Values of variables and headers become references to variables, because they may be
// secret. http is whether a URL without a type is for HTTP rather than SSE.
func (r *reader) servers(all object, http bool) {
	for _, alias := range slices.Sorted(maps.Keys(all)) {
		given, ok := all[alias].(object)
		if !ok {
			r.left(servers+alias, "not an object")
			continue
		}
		if words, ok := given["command"].([]any); ok && len(words) > 0 { // opencode's
			given["command"], given["args"] = words[0], words[1:]
		}
		if http && given["url"] != nil {
			given["httpUrl"] = take[string](given, "url")
		}
		if kind := given["type"]; kind == "local" || kind == "remote" {
			delete(given, "type")
		}
		if given["enabled"] == false || given["disabled"] == true {
			r.left(servers+alias, "it is turned off")
			continue
		}
		if slices.ContainsFunc(words(given), secretWord.MatchString) {
			r.left(servers+alias, "its command or URL may have a key or token. Add it with adze mcp add")
			continue
		}
		out := object{}
		if name := take[string](given, "bearer_token_env_var"); name != "" {
			out["headers"] = object{"Authorization": "Bearer $" + name}
		}
		for key, to := range sameKeys {
			value, ok := given[key]
			delete(given, key)
			if secrets, _ := value.(object); secrets != nil {
				value = r.references(alias, key, secrets, out[to])
			}
			if ok {
				out[to] = value
			}
		}
		delete(given, "enabled")
		r.rest(given, servers+alias+".")
		r.changes[servers+alias] = out
	}
}

// words returns the texts of a server that aren't variables or headers.
func words(server object) (all []string) {
	for _, key := range []string{"command", "url", "httpUrl"} {
		text, _ := server[key].(string)
		all = append(all, text)
	}
	args, _ := server["args"].([]any)
	for _, one := range args {
		text, _ := one.(string)
		all = append(all, text)
	}
	return all
}

// references returns variables or headers with references as their values, beside those of the same kind.
func (r *reader) references(alias, key string, secrets object, beside any) object {
	out, _ := beside.(object)
	if out == nil {
		out = object{}
	}
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		text, _ := secrets[name].(string)
		variable := name
		if strings.HasSuffix(key, "headers") {
			variable = odd.ReplaceAllString(strings.ToUpper(alias+"_"+name), "_")
		}
		begin := ""
		if found := reference.FindStringSubmatch(text); found != nil {
			variable = found[1]
		} else if key == "env_http_headers" {
			variable = text
		} else {
			r.left(servers+alias+"."+key+"."+name, "its value isn't copied. Set the variable %s", variable)
		}
		if strings.HasPrefix(text, "Bearer ") {
			begin = "Bearer "
		}
		out[name] = begin + "$" + variable
	}
	return out
}
