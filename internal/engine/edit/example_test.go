package edit_test

import (
	"fmt"

	"github.com/adze-dev/adze/internal/engine/edit"
)

func ExampleFind() {
	text := "func f() {\n\tif ok {\n\t\treturn 1\n\t}\n}\n"
	m, err := edit.Find(text, edit.Edit{
		Old: "    if ok {\n        return 1\n    }\n", // the writer saw tabs as spaces
		New: "    if ok {\n        return 2\n    }\n",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("matched after ignoring %v, at line %d\n", m.Rung, m.Places[0].Line)
	fmt.Print(edit.Compare(text, m.Apply(text)).Unified("Current", "Proposed"))
	// Output:
	// matched after ignoring indentation, at line 2
	// --- Current
	// +++ Proposed
	// @@ -1,5 +1,5 @@
	//  func f() {
	//  	if ok {
	// -		return 1
	// +		return 2
	//  	}
	//  }
}

func ExampleFind_notFound() {
	_, err := edit.Find("if a > b {\n\treturn a\n}\n", edit.Edit{Old: "if a >= b {\n  return a\n}", New: ""})
	fmt.Println(err)
	// Output:
	// text to replace not found in the file. Closest match: lines 1-3 (83% similar). Lines with - are only in your text, lines with + only in the file:
	// -if a >= b {
	// -  return a
	// +if a > b {
	// +	return a
	//  }
	// line 1, column 7: your text has '=', the file has a space
	// line 2, column 1: your text has 2 spaces, the file has a tab
}
