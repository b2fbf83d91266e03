package term_test

import (
	"fmt"

	"github.com/adze-dev/adze/internal/engine/proc/term"
)

func ExampleScreen() {
	s := term.New(func(line []byte, more bool) { fmt.Printf("%s\n", line) })
	s.Write([]byte("10%\r100%\n\x1b[31mred\x1b[0m\n"))
	s.Flush()
	// Output:
	// 100%
	// red
}
