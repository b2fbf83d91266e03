package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// agentFlags are what programs that drive an agent pass: tools, limits, prompts and the form of the result.
func agentFlags() []flag {
	return []flag{
		{long: "allowed-tools", value: "A,B", on: cmdAgent + " " + cmdTools, about: "rules for calls that run without approval (repeatable)",
			set: func(o *options, v string) error { return list(&o.allowedTools, v) }},
		{long: "exclude-tools", also: []string{"disallowed-tools"}, value: "A,B", on: cmdAgent + " " + cmdTools, about: "tools to remove, or rules for denied calls (repeatable)",
			set: func(o *options, v string) error { return list(&o.excludeTools, v) }},
		{long: "core-tools", value: "A,B", on: cmdAgent + " " + cmdTools, about: "the only built-in tools to offer (repeatable)",
			set: func(o *options, v string) error { return list(&o.coreTools, v) }},
		{long: "allowed-mcp-server-names", value: "A,B", on: cmdAgent + " " + cmdTools, about: "the only MCP servers to start (repeatable)",
			set: func(o *options, v string) error { return list(&o.mcpServers, v) }},
		{long: "disabled-slash-commands", value: "A,B", on: cmdAgent, about: "slash commands to remove (repeatable)",
			set: func(o *options, v string) error { return list(&o.noSlashes, v) }},
		{long: "system-prompt", value: "TEXT", on: cmdAgent, about: "instructions in place of Adze's own",
			set: func(o *options, v string) error {
				o.systemPrompt = v
				return nil
			}},
		{long: "append-system-prompt", value: "TEXT", on: cmdAgent, about: "instructions to add to the system prompt",
			set: func(o *options, v string) error {
				o.appendPrompt = v
				return nil
			}},
		{long: "json-schema", value: "TEXT|@FILE", on: cmdPrompt, about: "return a result that matches this JSON Schema, instead of text",
			set: func(o *options, v string) error {
				o.jsonSchema, o.hasSchema = v, true
				return nil
			}},
		{long: "max-tool-calls", value: "N", on: cmdAgent, about: "stop after N tool calls, including subagents (exit code 55)",
			set: func(o *options, v string) (err error) {
				o.maxCalls, err = limit(v)
				return err
			}},
		{long: "max-tokens", value: "N", on: cmdAgent, about: "stop after N tokens, including subagents and sampling (exit code 55)",
			set: func(o *options, v string) (err error) {
				o.maxTokens, err = limit(v)
				return err
			}},
		{long: "max-subagent-depth", value: "N", on: cmdAgent, about: "how deep subagents can be nested (0: no subagents)",
			set: func(o *options, v string) error {
				if n, err := strconv.Atoi(v); err != nil || n < 0 {
					return fmt.Errorf("expected 0 or a number above 0, got %q", v)
				}
				o.maxDepth = v
				return nil
			}},
		{long: "log", value: "FILE", noun: aFile, on: cmdAgent, about: "append requests to models and their answers to this file, as JSON Lines",
			set: func(o *options, v string) error {
				if v == "" {
					return fmt.Errorf("expected a file name")
				}
				o.log = v
				return nil
			}},
	}
}

// unused are flags of Qwen Code that have no meaning here. Programs pass them, so they are accepted, with a note.
func unused() []flag {
	flags := []struct{ long, short, value, instead string }{
		{long: "channel", value: "NAME"},
		{long: "debug", short: "d"},
		{long: "telemetry"},
		{long: "telemetry-target", value: "NAME"},
		{long: "telemetry-otlp-endpoint", value: "URL"},
		{long: "telemetry-otlp-protocol", value: "NAME"},
		{long: "telemetry-log-prompts"},
		{long: "telemetry-outfile", value: "FILE"},
		{long: "experimental-lsp"},
		{long: "experimental-skills"},
		{long: "restore-ask-user-question"},
		{long: "extensions", short: "e", value: "NAMES"},
		{long: "sandbox-image", value: "NAME"},
		{long: "openai-logging", instead: "--log FILE"},
		{long: "openai-logging-dir", value: "DIR", instead: "--log FILE"},
	}
	var out []flag
	for _, f := range flags {
		note := "--" + f.long + " has no effect in Adze"
		if f.instead != "" {
			note += "; use " + f.instead
		}
		out = append(out, flag{long: f.long, short: f.short, value: f.value, on: cmdPrompt, hidden: true, set: func(o *options, _ string) error {
			o.notes = append(o.notes, note)
			return nil
		}})
	}
	return out
}

// list adds the elements of a list that is separated by commas. Commas in parentheses belong to a rule.
func list(to *[]string, v string) error {
	depth, start := 0, 0
	elements := []string{}
	for i, r := range v {
		switch {
		case r == '(':
			depth++
		case r == ')':
			depth = max(depth-1, 0)
		case r == ',' && depth == 0:
			elements = append(elements, v[start:i])
			start = i + 1
		}
	}
	all := append([]string{}, *to...) // not nil: an empty list is one, too
	for _, e := range append(elements, v[start:]) {
		if e = strings.TrimSpace(e); e != "" {
			all = append(all, e)
		}
	}
	*to = all
	return nil
}

// limit reads a limit; -1 is none.
func limit(v string) (int, error) {
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 && n != -1 {
		return 0, fmt.Errorf("expected a number above 0, or -1 for no limit, got %q", v)
	}
	return n, nil
}

// duration reads a time. A number without a unit is seconds; -1 is no limit.
func duration(v string) (time.Duration, error) {
	d, err := time.ParseDuration(v)
	if n, plain := strconv.ParseFloat(v, 64); plain == nil && n < 1e9 {
		d, err = time.Duration(n*float64(time.Second)), nil
	}
	if err != nil || d <= 0 && v != "-1" {
		return 0, fmt.Errorf("expected a time such as 90s or 10m, got %q", v)
	}
	return d, nil
}
