package cli

import (
	"fmt"
	"regexp"
	"strings"
)

// programFlags are for programs that drive Adze.
func programFlags() []flag {
	return []flag{
		{long: "input-format", value: "FORMAT", on: cmdPrompt, about: "input format: text (default) or stream-json (prompts and control requests, one JSON object per line)",
			set: func(o *options, v string) error { return oneOf(&o.input, v, "text", "stream-json") }},
		{long: "include-partial-messages", on: cmdPrompt, about: "print pieces of messages as they arrive, with --output-format stream-json",
			set: func(o *options, _ string) error {
				o.partial = true
				return nil
			}},
		{long: "session-id", value: "UUID", on: cmdPrompt, about: "ID of the new session",
			set: func(o *options, v string) error {
				o.sessionID = strings.ToLower(v)
				if !regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`).MatchString(o.sessionID) {
					return fmt.Errorf("expected a UUID such as 123e4567-e89b-42d3-a456-426614174000, got %q", v)
				}
				return nil
			}},
	}
}

// checkFormats reports formats that don't go together.
func checkFormats(o *options) error {
	switch {
	case o.input == "stream-json" && o.format != "stream-json":
		return usagef("--input-format stream-json needs --output-format stream-json")
	case o.partial && o.format != "stream-json":
		return usagef("--include-partial-messages needs --output-format stream-json")
	}
	return nil
}
