package openai_test

import (
	"strings"
	"testing"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// Calls that a server leaves in the text are recovered if the answer ends with them and they name declared tools.
func TestCallsInText(t *testing.T) {
	json := `<tool_call>` + "\n" + `{"name": "read", "arguments": {"path": "a"}}` + "\n</tool_call>"
	read := "\n read {\"path\": \"a\"}"
	for _, tt := range []struct{ name, text, want string }{
		{"JSON", json, read},
		{"after text", "I look.\n\n" + json + "\n", "I look.\n\n" + read},
		{"on the same line", "I look." + json, "I look." + read},
		{"two of them", json + "\n" + json, read + read},
		{"arguments as a string", `<tool_call>{"name":"read","arguments":"{\"path\":1}"}</tool_call>`, "\n read {\"path\":1}"},
		{"in a function", `<tool_call>{"type":"function","function":{"name":"read","parameters":{}}}</tool_call>`, "\n read {}"},
		{"without the end tag", `<tool_call>{"name":"read","arguments":{}}`, "\n read {}"},
		{"Qwen", "<tool_call>\n<function=read>\n<parameter=path>\na\nb\n</parameter>\n<parameter=n>\n3\n</parameter>\n</function>\n</tool_call>", "\n read {\"n\":\"3\",\"path\":\"a\\nb\"}"},
		{"Qwen without the outer tag", "<function=read>\n<parameter=path>\na\n</parameter>\n</function>\n</tool_call>", "\n read {\"path\":\"a\"}"},
		{"a value with tags", "<function=read><parameter=text></parameter> and </function></parameter></function>", "\n read {\"text\":\"</parameter> and </function>\"}"},
		{"Llama", `<function=read>{"path":"a"}</function>`, "\n read {\"path\":\"a\"}"},
		{"GLM", "<tool_call>read\n<arg_key>path</arg_key>\n<arg_value>a</arg_value>\n<arg_key>n</arg_key>\n<arg_value>3</arg_value>\n</tool_call>", "\n read {\"n\":\"3\",\"path\":\"a\"}"},
		{"GLM without arguments", "<tool_call>read</tool_call>", "\n read {}"},
		{"Claude", "<function_calls>\n<invoke name=\"read\">\n<parameter name=\"path\">a</parameter>\n</invoke>\n</function_calls>", "\n read {\"path\":\"a\"}"},
		{"MiniMax", "<minimax:tool_call>\n<invoke name=\"read\">\n<parameter name=\"path\">a</parameter>\n</invoke>\n</minimax:tool_call>", "\n read {\"path\":\"a\"}"},

		{"text follows", json + " is what I would send.", json + " is what I would send."},
		{"in a code block", "```\n" + json + "\n```", "```\n" + json + "\n```"},
		{"in quotes", "`" + json + "`", "`" + json + "`"},
		{"an unknown tool", strings.Replace(json, "read", "delete", 1), strings.Replace(json, "read", "delete", 1)},
		{"one of two is unknown", json + strings.Replace(json, "read", "delete", 1), json + strings.Replace(json, "read", "delete", 1)},
		{"cut off", "<function=read><parameter=path>a", "<function=read><parameter=path>a"},
		{"JSON that is cut off", `<tool_call>{"name":"read","argu`, `<tool_call>{"name":"read","argu`},
		{"the tag alone", "Write <tool_call> first.", "Write <tool_call> first."},
		{"the beginning of a tag", "a < b, <tool", "a < b, <tool"},
		{"no call at all", "<toolbox>x</toolbox>", "<toolbox>x</toolbox>"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for n := range len(tt.text) + 1 { // pieces of 0 (all at once), 1, 2, … bytes
				m, _ := open(t, script{Answers: []answer{{Text: tt.text, Faults: faults{Split: n}}}})
				r := request("hi")
				r.Tools = []tool.Declaration{{Name: "read"}, {Name: "write"}}
				got, err := play(t.Context(), m, r)
				got, _, _ = strings.Cut(got, "\nend ")
				if err != nil || got != tt.want {
					t.Fatalf("pieces of %d bytes: %q, %v, want %q", n, got, err, tt.want)
				}
			}
		})
	}
}

// Markup beside a call of the API is text, and so is markup where no tools are declared or the answer is cut off.
func TestMarkupBesideCalls(t *testing.T) {
	text := `<tool_call>{"name":"read","arguments":{}}</tool_call>`
	tools := []tool.Declaration{{Name: "read"}}
	for _, tt := range []struct {
		name   string
		a      answer
		tools  []tool.Declaration
		want   string
		reason model.Reason
	}{
		{"another call", answer{Text: text, Calls: []call{{ID: "a", Name: "read", Args: []byte(`{}`)}}}, tools, text + "\na read {}", model.Calls},
		{"no tools", answer{Text: text}, nil, text, model.Stop},
		{"truncated", answer{Text: text, Finish: "length"}, tools, text, model.Length},
		{"recovered", answer{Text: text}, tools, "\n read {}", model.Calls},
	} {
		m, _ := open(t, script{Answers: []answer{tt.a}})
		r := request("hi")
		r.Tools = tt.tools
		var reason model.Reason
		for e, err := range m.Stream(t.Context(), r) {
			if err != nil {
				t.Fatal(err)
			}
			if end, ok := e.(model.End); ok {
				reason = end.Reason
			}
		}
		m, _ = open(t, script{Answers: []answer{tt.a}})
		got, err := play(t.Context(), m, r)
		got, _, _ = strings.Cut(got, "\nend ")
		if err != nil || got != tt.want || reason != tt.reason {
			t.Errorf("%s: %q, %q, %v", tt.name, got, reason, err)
		}
	}
}
