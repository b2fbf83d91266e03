// Package term reads output as a terminal would show it: carriage returns,
// backspaces, cursor movement and erasing are carried out, colors dropped,
// and what remains is plain lines of text.
//
//	s := term.New(func(line []byte, more bool) { fmt.Printf("%s\n", line) })
//	s.Write([]byte("10%\r100%\n\x1b[31mred\x1b[0m\n"))
//	s.Flush() // 100%, red
//
// It differs from a real terminal where text for a reader is better served:
// lines are not wrapped at a width, a tab stays a tab (one cell), every
// character is one cell wide, NUL is shown as ␀, and erasing the screen never
// reaches lines that have scrolled away. It is not a screen to paint from:
// there are no attributes, no alternate screen and no scroll regions.
package term
