// Command otherloop gives Adze's tools to a loop of another SDK: OpenAI's for Go. The SDK talks to the model; Adze
// checks, judges, orders and runs the calls.
//
//	OPENAI_API_KEY=… otherloop -model gpt-5 "How many Go files are here?"
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/shared"

	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/permission/ondisk"
	"github.com/adze-dev/adze/tool"
)

func main() {
	helper := builtin.Main() // before anything else
	name := flag.String("model", "gpt-5", "name of the model")
	flag.Parse()
	dir, err := os.Getwd()
	if err == nil {
		err = run(context.Background(), os.Stdout, helper, openai.NewClient(), *name, dir,
			strings.Join(flag.Args(), " "))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "otherloop:", err)
		os.Exit(1)
	}
}

// maxTurns is how many requests a prompt can take.
const maxTurns = 50

// run answers a prompt with the tools of a directory. Calls that require approval are denied.
func run(ctx context.Context, w io.Writer, helper builtin.Helper, client openai.Client, name, dir, prompt string) error {
	set, err := builtin.New(builtin.Options{Dir: dir, Helper: helper})
	if err != nil {
		return err
	}
	defer set.Close()
	policy := permission.New(permission.World{Roots: set.Roots(), Disk: ondisk.New(set.Roots())}, permission.Default)
	x := &tool.Executor{Registry: tool.NewRegistry(set.Tools()...), Policy: policy.Judge, Mask: set.Mask, Check: set.Check}
	tools, err := declare(x.Registry)
	if err != nil {
		return err
	}
	params := openai.ChatCompletionNewParams{
		Model: name, Tools: tools,
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(prompt)},
	}
	for range maxTurns {
		answer, err := client.Chat.Completions.New(ctx, params)
		if err != nil {
			return err
		}
		if len(answer.Choices) == 0 {
			return errors.New("the answer has no choices")
		}
		message := answer.Choices[0].Message
		if len(message.ToolCalls) == 0 {
			fmt.Fprintln(w, message.Content)
			return nil
		}
		params.Messages = append(params.Messages, message.ToParam())
		batch := x.Batch(ctx) // the calls of one turn
		for _, c := range message.ToolCalls {
			batch.Add(tool.Call{ID: c.ID, Name: c.Function.Name, Args: json.RawMessage(c.Function.Arguments)})
		}
		for i, o := range batch.Wait() {
			fmt.Fprintf(w, "%s: %s\n", o.Name, o.Status)
			params.Messages = append(params.Messages, openai.ToolMessage(o.Result.Text(), message.ToolCalls[i].ID))
		}
	}
	return fmt.Errorf("stopped after %d turns", maxTurns)
}

// declare converts the declarations of tools.
func declare(r *tool.Registry) ([]openai.ChatCompletionToolUnionParam, error) {
	var out []openai.ChatCompletionToolUnionParam
	for _, d := range r.Declarations(nil) {
		var parameters shared.FunctionParameters
		if err := json.Unmarshal(d.Parameters, &parameters); err != nil {
			return nil, fmt.Errorf("%s: %w", d.Name, err)
		}
		out = append(out, openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
			Name: d.Name, Description: openai.String(d.Description), Parameters: parameters,
		}))
	}
	return out, nil
}
