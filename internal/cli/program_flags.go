package cli

// programFlags are for programs that drive Adze.
func programFlags() []flag {
	return []flag{
		{long: "input-format", value: "FORMAT", on: cmdPrompt, about: "input format: text (default) or stream-json (prompts and control requests, one JSON object per line)",
			among: []string{"text", "stream-json"},
			set: func(o *options, v string) error {
				o.input = v
				return nil
			}},
		{long: "acp", also: []string{"experimental-acp"}, on: cmdPrompt, about: "same as 'adze acp'",
			set: func(o *options, _ string) error {
				o.acp = true
				return nil
			}},
		{long: "include-partial-messages", on: cmdPrompt, about: "print pieces of messages as they arrive, with --output-format stream-json",
			set: func(o *options, _ string) error {
				o.partial = true
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
	case o.input == "stream-json" && o.hasSchema:
		return exitf(exitInput, "--json-schema can't be used with --input-format stream-json")
	case o.firstPrompt != "" && o.hasSchema:
		return exitf(exitInput, "--json-schema can't be used with --prompt-interactive\nUse -p instead.")
	}
	return nil
}
