package program

import "strings"

// sedScript matches scripts of sed whose commands only print, or are s without the flags that write or run. Patterns in
// which seds might see a delimiter elsewhere are not matched: those with a delimiter, a bracket or a backslash between
// brackets, and lines that continue.
func sedScript() string {
	pattern := func(delimiter string) string {
		class := `[^\]\[\\\n` + delimiter // not closed yet
		return `(?:[^\\\n\[` + delimiter + `]|\\[^\n]|\[\^?(?:` + class + `^]|\[:[a-z]+:\])(?:` + class + `]|\[:[a-z]+:\])*\])*` + delimiter
	}
	address := `(?:[0-9]+(?:~[0-9]+)?|\$|/` + pattern("/") + `I?)`
	var commands []string
	for _, d := range []string{"/", `\|`, ",", ":", "#", "@", "!", "%", "_"} {
		text := `(?:[^\\\n` + d + `]|\\[^\n])*` + d
		commands = append(commands, "s"+d+pattern(d)+text+"[gpiImM0-9]*", "y"+d+text+text)
	}
	command := `(?:[pd=nNDPhHgGxF]|[qQl][ 0-9]*|` + strings.Join(commands, "|") + `)`
	return `^(?:[\s;}]*(?:` + address + `[ \t]*(?:,[ \t]*(?:[+~]?[0-9]+|` + address + `))?)?[ \t!]*(?:\{|` + command + `[ \t]*(?:[;}\n]|$)))*[\s;}]*$`
}
