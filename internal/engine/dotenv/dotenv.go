// Package dotenv reads .env files.
package dotenv

import "strings"

// Parse reads lines NAME=VALUE, with or without "export" and quotes. Other lines are skipped.
func Parse(text string) map[string]string {
	values := map[string]string{}
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") {
			continue
		}
		if rest, ok := strings.CutPrefix(line, "export "); ok {
			line = strings.TrimSpace(rest)
		}
		name, value, ok := strings.Cut(line, "=")
		if name = strings.TrimSpace(name); !ok || name == "" {
			continue
		}
		values[name] = unquoted(strings.TrimSpace(value))
	}
	return values
}

// unquoted returns a value without its quotes, or without the comment after it.
func unquoted(value string) string {
	if len(value) > 0 && (value[0] == '"' || value[0] == '\'') {
		if end := strings.IndexByte(value[1:], value[0]); end >= 0 {
			return value[1 : 1+end]
		}
	}
	if i := strings.Index(value, " #"); i >= 0 {
		value = strings.TrimSpace(value[:i])
	}
	return value
}
