package tool

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/tool/schema"
)

// Members is a tool with the eight documented methods. [FromMembers] makes a Tool of it, and [BaseTool] has defaults.
type Members interface {
	Name() string
	DisplayName() string
	Description() string
	ParameterSchema() json.RawMessage
	// ValidateToolParams returns an error if the parameters are invalid.
	ValidateToolParams(params map[string]any) error
	// GetDescription returns one line: what the tool would do with the parameters.
	GetDescription(params map[string]any) string
	// ShouldConfirmExecute returns what the permission prompt shows; nil if the tool sees no need to ask. Policy
	// decides what runs without approval.
	ShouldConfirmExecute(ctx context.Context, params map[string]any) (Display, error)
	// Execute runs the call. It can call updateOutput with a new display any number of times.
	Execute(ctx context.Context, params map[string]any, updateOutput func(Display)) (Result, error)
}

// BaseTool is the documented base class: embed it, set Decl, and write Execute and the methods that differ.
type BaseTool struct{ Decl Declaration }

// Name returns the declared name.
func (b BaseTool) Name() string { return b.Decl.Name }

// DisplayName returns the declared display name.
func (b BaseTool) DisplayName() string { return b.Decl.Title() }

// Description returns the declared description.
func (b BaseTool) Description() string { return b.Decl.Description }

// Kind returns the declared kind. A tool that only reads, searches or thinks declares that here.
func (b BaseTool) Kind() Kind { return b.Decl.kind() }

// ParameterSchema returns the declared schema; without one the tool accepts any object.
func (b BaseTool) ParameterSchema() json.RawMessage {
	if b.Decl.Parameters == nil {
		return json.RawMessage(`{"type":"object"}`)
	}
	return b.Decl.Parameters
}

// ValidateToolParams returns nil: the parameters were checked against the schema before.
func (b BaseTool) ValidateToolParams(map[string]any) error { return nil }

// GetDescription returns the parameters as JSON.
func (b BaseTool) GetDescription(params map[string]any) string {
	raw, err := humanize.JSON(params)
	if err != nil {
		return b.Decl.Title()
	}
	return b.Decl.Title() + " " + string(raw)
}

// ShouldConfirmExecute returns nil: no need to ask.
func (b BaseTool) ShouldConfirmExecute(context.Context, map[string]any) (Display, error) {
	return nil, nil
}

// FromMembers makes a Tool of m. It calls the methods in the documented order: ValidateToolParams (after the parameters
// were checked against the schema), GetDescription, ShouldConfirmExecute, Execute. The first three may be called again.
//
// The access of such a tool is unknown, so policy judges it as [Anything], and a nil from ShouldConfirmExecute passes
// neither plan mode nor a deny rule. Only a tool with a method Kind() Kind that returns Read, Search or Think is
// treated as read-only.
//
// FromMembers panics on members without a name or with an invalid schema: a bug in the program.
func FromMembers(m Members) Tool {
	params, err := schema.Parse(m.ParameterSchema())
	if err != nil || m.Name() == "" {
		panic(fmt.Sprintf("tool %q from members: a name and a valid schema are required: %v", m.Name(), err))
	}
	d := Declaration{
		Name: m.Name(), DisplayName: m.DisplayName(), Description: m.Description(),
		Parameters: m.ParameterSchema(), Kind: Other,
	}
	if k, ok := m.(interface{ Kind() Kind }); ok {
		d.Kind = k.Kind()
	}
	return &fromMembers{m, d, params.Strict()}
}

type fromMembers struct {
	members     Members
	declaration Declaration
	schema      *schema.Schema
}

func (t *fromMembers) Declaration() Declaration { return t.declaration }

func (t *fromMembers) Prepare(ctx context.Context, raw json.RawMessage) (*Invocation, error) {
	params, notes, err := t.schema.Values(raw)
	if err != nil {
		return nil, err
	}
	params = plainNumbers(params).(map[string]any)
	if err := t.members.ValidateToolParams(params); err != nil {
		if p, ok := err.(*ParamError); ok {
			return nil, p
		}
		return nil, BadParam("", "%v", err)
	}
	inv := &Invocation{Description: t.members.GetDescription(params), Notes: notes}
	inv.Confirm, err = t.members.ShouldConfirmExecute(ctx, params)
	inv.Access = t.access(inv.Confirm != nil)
	inv.Run = func(ctx context.Context, l *Live) (Result, error) {
		return t.members.Execute(ctx, params, l.Show)
	}
	return inv, err
}

// access returns what policy judges. A read-only tool that sees no need to ask needs no approval; one that does is
// judged as reading an unknown path.
func (t *fromMembers) access(confirm bool) []Access {
	switch {
	case !t.declaration.kind().harmless():
		return []Access{Anything}
	case confirm:
		return []Access{{Reads, "*"}}
	}
	return []Access{Nothing}
}

// plainNumbers turns every number into a float64, as json.Unmarshal would.
func plainNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		f, _ := v.Float64()
		return f
	case []any:
		for i := range v {
			v[i] = plainNumbers(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = plainNumbers(v[k])
		}
	}
	return v
}
