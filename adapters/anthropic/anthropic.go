// Package anthropic gives Adze's tools, with their policy, to the tool runner of Anthropic's SDK for Go.
//
//	a, err := adze.New(adze.Dir("."), adze.Ask(adze.OnTerminal))
//	tools, err := anthropic.Tools(a.Executor(ctx))
//	runner := client.Beta.Messages.NewToolRunner(tools, params)
package anthropic

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go"

	"github.com/adze-dev/adze/tool"
)

// Tools returns the executor's tools.
func Tools(x *tool.Executor) ([]anthropic.BetaTool, error) {
	var out []anthropic.BetaTool
	for _, d := range x.Registry.Declarations(nil) {
		t := &adapted{x: x, declaration: d}
		if err := t.schema.UnmarshalJSON(d.Parameters); err != nil {
			return nil, fmt.Errorf("%s: parameters: %w", d.Name, err)
		}
		out = append(out, t)
	}
	return out, nil
}

type adapted struct {
	x           *tool.Executor
	declaration tool.Declaration
	schema      anthropic.BetaToolInputSchemaParam
}

func (t *adapted) Name() string                                    { return t.declaration.Name }
func (t *adapted) Description() string                             { return t.declaration.Description }
func (t *adapted) InputSchema() anthropic.BetaToolInputSchemaParam { return t.schema }

// Execute runs a call. Its error is the text for the model of a call that failed or was denied.
func (t *adapted) Execute(ctx context.Context, input json.RawMessage) (
	[]anthropic.BetaToolResultBlockParamContentUnion, error) {
	o := t.x.Run(ctx, tool.Call{Name: t.declaration.Name, Args: input})
	if o.Error != nil {
		return nil, errors.New(o.Result.Text())
	}
	out := []anthropic.BetaToolResultBlockParamContentUnion{{
		OfText: &anthropic.BetaTextBlockParam{Text: o.Result.Text()},
	}}
	for _, p := range o.Result.Content {
		if m, ok := p.(tool.Media); ok {
			out = append(out, anthropic.BetaToolResultBlockParamContentUnion{OfImage: &anthropic.BetaImageBlockParam{
				Source: anthropic.BetaImageBlockParamSourceUnion{OfBase64: &anthropic.BetaBase64ImageSourceParam{
					Data:      base64.StdEncoding.EncodeToString(m.Data),
					MediaType: anthropic.BetaBase64ImageSourceMediaType(m.MIMEType),
				}},
			}})
		}
	}
	return out, nil
}
