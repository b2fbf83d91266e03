package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"sync"

	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/tool/schema"
)

// Def defines a tool whose arguments are an A. Zero fields mean the default.
type Def[A any] struct {
	Name        string
	DisplayName string
	Summary     string // one line for users; not sent to the model
	Description string
	Kind        Kind
	Aliases     []string
	Deferred    bool
	Budget      int
	RuleNames   []string
	Needs       Need
	Polls       bool
	Personal    bool
	Auxiliary   bool
	Dialect     Dialect
	Grammar     string
	// Prepare gets arguments that were decoded, repaired and checked against the schema of A. It checks what a schema
	// can't express and plans the call: see [Tool].
	Prepare func(ctx context.Context, args A) (*Invocation, error)
}

// Define makes a tool. The schema comes from A, a struct: a field is a parameter under its JSON name, required unless
// its tag says omitempty; further tags are
//
//	description:"what it is for"   enum:"a,b"   minimum:"1"   maximum:"9"   default:"3"   minLength:"1"
//	alias:"old_name,other"         further names of the parameter
//	lenient:"true"                 declared as required; Prepare handles a missing value
//	ignored:"mood,tone"            parameters beside this one that models trained on other agents send, without effect
//
// Unknown parameters are rejected. Define panics if A has no schema: a bug in the program.
func Define[A any](d Def[A]) Tool {
	prepare := func(ctx context.Context, values map[string]any) (*Invocation, error) {
		var args A
		if err := decodeInto(values, &args); err != nil {
			return nil, err
		}
		return d.Prepare(ctx, args)
	}
	if d.Prepare == nil {
		prepare = nil
	}
	return define(reflect.TypeFor[A](), prepare, Declaration{
		Name: d.Name, DisplayName: d.DisplayName, Summary: d.Summary, Description: d.Description,
		Kind: d.Kind, Aliases: d.Aliases, Deferred: d.Deferred, Budget: d.Budget, RuleNames: d.RuleNames,
		Needs: d.Needs, Polls: d.Polls,
		Personal: d.Personal, Auxiliary: d.Auxiliary, Dialect: d.Dialect, Grammar: d.Grammar,
	})
}

// defined isn't generic, so that the program has its code once and not for every type of arguments.
type defined struct {
	declaration Declaration
	schema      func() *schema.Schema
	prepare     preparer
}

// preparer prepares a call from checked values.
type preparer func(ctx context.Context, values map[string]any) (*Invocation, error)

func define(arguments reflect.Type, prepare preparer, d Declaration) Tool {
	args, err := schema.Of(arguments)
	if err != nil {
		panic(fmt.Sprintf("define tool %s: %v", d.Name, err))
	}
	if d.Name == "" || d.Description == "" || prepare == nil {
		panic(fmt.Sprintf("define tool %q: Name, Description and Prepare are required", d.Name))
	}
	d.Parameters = args.JSON
	// Parsed at the first call: a session defines all tools and calls few of them.
	parse := sync.OnceValue(func() *schema.Schema {
		parsed, err := args.Parse()
		if err != nil {
			panic(fmt.Sprintf("define tool %s: %v", d.Name, err))
		}
		return parsed
	})
	return &defined{declaration: d, schema: parse, prepare: prepare}
}

func (t *defined) Declaration() Declaration { return t.declaration }

func (t *defined) Prepare(ctx context.Context, raw json.RawMessage) (*Invocation, error) {
	values, notes, err := t.schema().Values(raw)
	if err != nil {
		return nil, t.named(err)
	}
	inv, err := t.prepare(ctx, values)
	if inv != nil && len(notes) > 0 {
		noted := *inv
		noted.Notes = append(notes, inv.Notes...)
		inv = &noted
	}
	return inv, t.named(err)
}

// arguments returns the arguments of a call as Prepare reads them.
func (t *defined) arguments(raw json.RawMessage) (json.RawMessage, error) {
	values, _, err := t.schema().Values(raw)
	if err != nil {
		return nil, err
	}
	return humanize.JSON(values)
}

// ArgumentsOf returns the arguments of a call as the tool reads them: repaired, by the declared names of parameters,
// and with defaults. Invalid arguments are returned unchanged. A tool that wraps another has a method Unwrap() Tool.
func ArgumentsOf(t Tool, raw json.RawMessage) json.RawMessage {
	var args json.RawMessage
	var err error
	switch t := t.(type) {
	case *defined:
		args, err = t.arguments(raw)
	case interface{ Unwrap() Tool }:
		return ArgumentsOf(t.Unwrap(), raw)
	default:
		var s *schema.Schema
		if s, err = schema.Parse(t.Declaration().Parameters); err == nil {
			var values map[string]any
			if values, _, err = s.Values(raw); err == nil {
				args, err = humanize.JSON(values)
			}
		}
	}
	if err != nil {
		return raw
	}
	return args
}

// named adds the tool's name to an error about its parameters.
func (t *defined) named(err error) error {
	if p, ok := err.(*ParamError); ok && p.Tool == "" {
		return &ParamError{Tool: t.declaration.Name, Violations: p.Violations}
	}
	return err
}

// decodeInto fills a struct from checked values. It can still fail for a number that overflows its Go type.
func decodeInto(values map[string]any, args any) error {
	raw, err := json.Marshal(values)
	if err != nil {
		return BadParam("", "can't read the arguments: %v", err)
	}
	err = json.Unmarshal(raw, args)
	if t, ok := err.(*json.UnmarshalTypeError); ok {
		return BadParam(t.Field, "invalid %s (expected %s)", t.Value, t.Type)
	}
	if err != nil {
		return BadParam("", "can't read the arguments: %v", err)
	}
	return nil
}
