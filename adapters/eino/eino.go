// Package eino gives Adze's tools, with their policy, to agents and tool nodes of eino.
//
//	a, err := adze.New(adze.Dir("."), adze.Ask(adze.OnTerminal))
//	tools, err := eino.Tools(a.Executor(ctx))
//	agent, err := react.NewAgent(ctx, &react.AgentConfig{ToolCallingModel: m, ToolsConfig: compose.ToolsNodeConfig{Tools: tools}})
//
// With Go 1.26, eino needs github.com/bytedance/sonic v1.15 or later.
package eino

import (
	"context"
	"encoding/json"
	"fmt"

	einotool "github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/eino-contrib/jsonschema"

	"github.com/adze-dev/adze/tool"
)

// Tools returns the executor's tools.
func Tools(x *tool.Executor) ([]einotool.BaseTool, error) {
	var out []einotool.BaseTool
	for _, d := range x.Registry.Declarations(nil) {
		parameters := &jsonschema.Schema{}
		if err := json.Unmarshal(d.Parameters, parameters); err != nil {
			return nil, fmt.Errorf("%s: parameters: %w", d.Name, err)
		}
		out = append(out, &adapted{x, &schema.ToolInfo{
			Name: d.Name, Desc: d.Description, ParamsOneOf: schema.NewParamsOneOfByJSONSchema(parameters),
		}})
	}
	return out, nil
}

type adapted struct {
	x    *tool.Executor
	info *schema.ToolInfo
}

func (t *adapted) Info(context.Context) (*schema.ToolInfo, error) { return t.info, nil }

// InvokableRun runs a call, and returns the text for the model: also of a call that failed or was denied, because an
// error would end the whole graph. The text names an image, which isn't sent.
func (t *adapted) InvokableRun(ctx context.Context, args string, _ ...einotool.Option) (string, error) {
	o := t.x.Run(ctx, tool.Call{Name: t.info.Name, Args: json.RawMessage(args)})
	if err := context.Cause(ctx); err != nil {
		return "", err
	}
	text := o.Result.Text()
	for _, p := range o.Result.Content {
		if m, ok := p.(tool.Media); ok {
			text += fmt.Sprintf("\n[%s, not sent]", m.MIMEType)
		}
	}
	return text, nil
}
