// Package term interprets output like a terminal: it executes carriage returns, backspaces, cursor movement and
// erasing, drops colors, and returns plain lines of text.
//
//	s := term.New(func(line []byte, more bool) { fmt.Printf("%s\n", line) })
//	s.Write([]byte("10%\r100%\n\x1b[31mred\x1b[0m\n"))
//	s.Flush() // 100%, red
//
// It differs from a real terminal where that makes better text: lines are not wrapped at a width, a tab stays a tab
// (one cell), every character is one cell wide, NUL is shown as ␀, and erasing the screen never reaches lines that have
// scrolled away. It has no attributes, no alternate screen and no scroll regions.
package term
