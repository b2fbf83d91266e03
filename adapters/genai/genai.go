// Package genai gives Adze's tools, with their policy, to a loop with Google's Gen AI SDK for Go.
//
//	a, err := adze.New(adze.Dir("."), adze.Ask(adze.OnTerminal))
//	x := a.Executor(ctx)
//	config.Tools, err = genai.Tools(x)
//	…
//	answer, err = chat.Send(ctx, genai.Respond(ctx, x, answer.FunctionCalls())...)
package genai

import (
	"context"
	"encoding/json"
	"fmt"

	"google.golang.org/genai"

	"github.com/adze-dev/adze/tool"
)

// Tools returns the declarations of the executor's tools.
func Tools(x *tool.Executor) ([]*genai.Tool, error) {
	all := &genai.Tool{}
	for _, d := range x.Registry.Declarations(nil) {
		var parameters any
		if err := json.Unmarshal(d.Parameters, &parameters); err != nil {
			return nil, fmt.Errorf("%s: parameters: %w", d.Name, err)
		}
		all.FunctionDeclarations = append(all.FunctionDeclarations, &genai.FunctionDeclaration{
			Name: d.Name, Description: d.Description, ParametersJsonSchema: parameters,
		})
	}
	return []*genai.Tool{all}, nil
}

// Respond runs the calls of an answer as one turn, and returns a response for each, for the next request. A denied call
// has a response, too.
func Respond(ctx context.Context, x *tool.Executor, calls []*genai.FunctionCall) (parts []*genai.Part) {
	batch := x.Batch(ctx)
	for _, c := range calls {
		args, err := json.Marshal(c.Args)
		if err != nil {
			args = []byte("null") // the call fails
		}
		batch.Add(tool.Call{Name: c.Name, Args: args})
	}
	for i, o := range batch.Wait() {
		key := "output"
		if o.Error != nil {
			key = "error"
		}
		r := &genai.FunctionResponse{
			ID: calls[i].ID, Name: calls[i].Name, Response: map[string]any{key: o.Result.Text()},
		}
		for _, p := range o.Result.Content {
			if m, ok := p.(tool.Media); ok {
				r.Parts = append(r.Parts, &genai.FunctionResponsePart{
					InlineData: &genai.FunctionResponseBlob{Data: m.Data, MIMEType: m.MIMEType},
				})
			}
		}
		parts = append(parts, &genai.Part{FunctionResponse: r})
	}
	return parts
}
