// Package openai gives Adze's tools, with their policy, to a loop with OpenAI's SDK for Go.
//
//	a, err := adze.New(adze.Dir("."), adze.Ask(adze.OnTerminal))
//	x := a.Executor(ctx)
//	params.Tools, err = openai.Tools(x)
//	…
//	params.Messages = append(params.Messages, openai.Respond(ctx, x, answer.Choices[0].Message)...)
package openai

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/shared"

	"github.com/adze-dev/adze/tool"
)

// Tools returns the declarations of the executor's tools.
func Tools(x *tool.Executor) ([]openai.ChatCompletionToolUnionParam, error) {
	var out []openai.ChatCompletionToolUnionParam
	for _, d := range x.Registry.Declarations(nil) {
		var parameters shared.FunctionParameters
		if err := json.Unmarshal(d.Parameters, &parameters); err != nil {
			return nil, fmt.Errorf("%s: parameters: %w", d.Name, err)
		}
		out = append(out, openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
			Name: d.Name, Description: openai.String(d.Description), Parameters: parameters,
		}))
	}
	return out, nil
}

// Respond runs the calls of an answer as one turn, and returns the answer and a response for each call, for the next
// request. A denied call has a response, too. The API takes text only: an image in a result is named, not sent.
func Respond(ctx context.Context, x *tool.Executor, answer openai.ChatCompletionMessage) (
	messages []openai.ChatCompletionMessageParamUnion) {
	messages = append(messages, answer.ToParam())
	batch := x.Batch(ctx)
	for _, c := range answer.ToolCalls {
		batch.Add(tool.Call{Name: c.Function.Name, Args: json.RawMessage(c.Function.Arguments)})
	}
	for i, o := range batch.Wait() {
		text := o.Result.Text()
		for _, p := range o.Result.Content {
			if m, ok := p.(tool.Media); ok {
				text += fmt.Sprintf("\n[%s, not sent: this API takes text]", m.MIMEType)
			}
		}
		messages = append(messages, openai.ToolMessage(text, answer.ToolCalls[i].ID))
	}
	return messages
}
