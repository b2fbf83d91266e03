package schema_test

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/adze-dev/adze/tool/schema"
)

func Example() {
	type args struct {
		Path  string `json:"path" alias:"file"`
		Limit int    `json:"limit,omitempty" minimum:"1" default:"10"`
	}
	declared, err := schema.Of(reflect.TypeFor[args]())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(declared.JSON))
	s, err := declared.Parse()
	if err != nil {
		fmt.Println(err)
		return
	}
	fixed, notes, _ := s.Arguments(json.RawMessage(`{"file":"a.go","limit":"3"}`))
	fmt.Println(string(fixed), notes)
	_, _, err = s.Arguments(json.RawMessage(`{"limit":0}`))
	fmt.Println(err)
	// Output:
	// {"type":"object","properties":{"path":{"type":"string"},"limit":{"type":"integer","minimum":1,"default":10}},"required":["path"],"additionalProperties":false}
	// {"limit":3,"path":"a.go"} [path was given as file limit was the string "3"; read as 3]
	// 2 invalid parameters:
	// - path: is required (a string)
	// - limit: must be at least 1, got 0
}

// A parameter can be accepted without being declared, and checked all the same.
func ExampleOf_undeclared() {
	type args struct {
		Path string `json:"path"`
		Case *bool  `json:"-i,omitempty" declared:"false"`
	}
	declared, _ := schema.Of(reflect.TypeFor[args]())
	fmt.Println(string(declared.JSON))
	s, _ := declared.Parse()
	fixed, _, _ := s.Arguments(json.RawMessage(`{"path":"a","-i":"true"}`))
	fmt.Println(string(fixed))
	_, _, err := s.Arguments(json.RawMessage(`{"path":"a","-i":[],"x":1}`))
	fmt.Println(err)
	// Output:
	// {"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}
	// {"-i":true,"path":"a"}
	// 2 invalid parameters:
	// - -i: expected a boolean, got an array
	// - x: unknown parameter (expected path)
}
