package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"github.com/adze-dev/adze/model/anthropic/anthropictest"
	"github.com/adze-dev/adze/model/gemini/geminitest"
	"github.com/adze-dev/adze/model/openai/openaitest"
	"github.com/adze-dev/adze/model/responses/responsestest"
)

// agent is a program that takes part.
type agent struct {
	name    string
	version string
	api     api
	// call returns the name and the arguments of the call for a step.
	call func(w workspace, s step, i int) (string, object)
	// command returns what starts it, and its environment. It writes the settings that it needs.
	command func(w workspace) (argv, env []string, err error)
	noRead  bool // it has no tool to read files and uses a command
}

type object map[string]any

// echo is a command that differs each time: agents stop a model that repeats itself.
func echo(i int) string { return fmt.Sprintf("echo %d", i) }

const (
	key    = "race-key"
	prompt = "Do it."
)

// answer is an answer of the model: a call, or a text.
type answer struct {
	id, name string
	args     json.RawMessage
	text     string
}

// api is the protocol that an agent speaks.
type api struct {
	result string // a text that a request has once for each result of a call
	server func([]answer) http.Handler
}

func openaiAPI() api {
	return api{`"role":"tool"`, func(all []answer) http.Handler {
		script := openaitest.Script{Key: key, Repeat: true}
		for _, a := range all {
			one := openaitest.Answer{Text: a.text}
			if a.name != "" {
				one.Calls = []openaitest.Call{{ID: a.id, Name: a.name, Args: a.args}}
			}
			script.Answers = append(script.Answers, one)
		}
		return openaitest.New(script)
	}}
}

func responsesAPI() api {
	return api{`"type":"function_call_output"`, func(all []answer) http.Handler {
		script := responsestest.Script{Key: key, Repeat: true}
		for _, a := range all {
			one := responsestest.Answer{Text: a.text}
			if a.name != "" {
				one.Calls = []responsestest.Call{{ID: a.id, Name: a.name, Args: a.args}}
			}
			script.Answers = append(script.Answers, one)
		}
		return responsestest.New(script)
	}}
}

func anthropicAPI() api {
	return api{`"type":"tool_result"`, func(all []answer) http.Handler {
		script := anthropictest.Script{Key: key, Repeat: true}
		for _, a := range all {
			one := anthropictest.Answer{Text: a.text}
			if a.name != "" {
				one.Calls = []anthropictest.Call{{ID: a.id, Name: a.name, Args: a.args}}
			}
			script.Answers = append(script.Answers, one)
		}
		return anthropictest.New(script)
	}}
}

func geminiAPI() api {
	return api{`"functionResponse"`, func(all []answer) http.Handler {
		script := geminitest.Script{Key: key, Repeat: true}
		for _, a := range all {
			one := geminitest.Answer{Text: a.text}
			if a.name != "" {
				one.Calls = []geminitest.Call{{ID: a.id, Name: a.name, Args: a.args}}
			}
			script.Answers = append(script.Answers, one)
		}
		return geminitest.New(script)
	}}
}

// model returns the scripted model for an agent.
func (a agent) model(w workspace) *model {
	var all []answer
	for i, s := range steps() {
		if s == stepEnd {
			all = append(all, answer{text: "All is done."})
			continue
		}
		name, args := a.call(w, s, i)
		raw, _ := json.Marshal(args) // strings, numbers and booleans
		all = append(all, answer{id: fmt.Sprintf("call_%d", i), name: name, args: raw})
	}
	return &model{
		steps: len(all), script: a.api.server(all), result: a.api.result,
		side: a.api.server([]answer{{text: "A title"}}),
	}
}

// adzes returns the builds of Adze.
func adzes(builds []build) []agent {
	var all []agent
	for _, b := range builds {
		all = append(all, agent{
			name: b.name, version: version(b.path, "version"), api: openaiAPI(),
			call: func(w workspace, s step, i int) (string, object) {
				switch s {
				case stepRead:
					return "read_file", object{"absolute_path": w.small(i)}
				case stepPart:
					return "read_file", object{"absolute_path": w.large(), "offset": lineNumber - 5, "limit": 10}
				case stepEdit:
					return "edit", object{"file_path": w.large(), "old_string": oldLine, "new_string": newLine}
				}
				return "run_shell_command", object{"command": echo(i), "is_background": false}
			},
			command: func(w workspace) ([]string, []string, error) {
				return []string{b.path, "--approval-mode", "auto-edit", "--model", "scripted", "-p", prompt},
					[]string{"ADZE_HOME=" + w.home + "/.adze", "OPENAI_API_KEY=" + key, "OPENAI_BASE_URL=" + w.url +
						"/v1"}, nil
			},
		})
	}
	return all
}

func write(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o600)
}
