// Package genkit gives Adze's tools, with their policy, to genkit.
//
//	a, err := adze.New(adze.Dir("."), adze.Ask(adze.OnTerminal))
//	tools, err := genkit.Tools(a.Executor(ctx))
//	answer, err := genkit.Generate(ctx, g, ai.WithPrompt(prompt), ai.WithTools(tools...))
package genkit

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/firebase/genkit/go/ai"

	"github.com/adze-dev/adze/tool"
)

// Tools returns the executor's tools.
func Tools(x *tool.Executor) ([]ai.ToolRef, error) {
	var out []ai.ToolRef
	for _, d := range x.Registry.Declarations(nil) {
		var parameters map[string]any
		if err := json.Unmarshal(d.Parameters, &parameters); err != nil {
			return nil, fmt.Errorf("%s: parameters: %w", d.Name, err)
		}
		out = append(out, ai.NewMultipartTool(d.Name, d.Description,
			func(ctx *ai.ToolContext, in any) (*ai.MultipartToolResponse, error) { return run(ctx, x, d.Name, in) },
			ai.WithInputSchema(parameters)))
	}
	return out, nil
}

// run runs a call, and returns the text for the model: also of a call that failed or was denied, because an error would
// end the whole prompt.
func run(ctx context.Context, x *tool.Executor, name string, in any) (*ai.MultipartToolResponse, error) {
	args, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	o := x.Run(ctx, tool.Call{Name: name, Args: args})
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	out := &ai.MultipartToolResponse{Output: o.Result.Text()}
	for _, p := range o.Result.Content {
		if m, ok := p.(tool.Media); ok {
			data := "data:" + m.MIMEType + ";base64," + base64.StdEncoding.EncodeToString(m.Data)
			out.Content = append(out.Content, ai.NewMediaPart(m.MIMEType, data))
		}
	}
	return out, nil
}
