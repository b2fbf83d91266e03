// Package fenced reads the code blocks of a Markdown page, so that tests can run what a page shows, and writes the
// parts of it that tests make.
package fenced

import (
	"fmt"
	"os"
	"strings"
)

// Made compares the part of a page between two comments with what a test made, or writes it.
func Made(page, begin, end, part string, write bool) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(text), begin)
	old, after, closed := strings.Cut(rest, end)
	switch {
	case !found || !closed:
		return fmt.Errorf("%s has no part between %q and %q", page, begin, end)
	case old == part:
		return nil
	case write:
		return os.WriteFile(page, []byte(before+begin+part+end+after), 0o644)
	}
	return fmt.Errorf("%s is stale", page)
}

// Block is a code block.
type Block struct {
	Line     int    // of its first line in the page, from 1
	Language string // what follows the opening fence
	Text     string // with a newline at the end of each line
	Note     string // the text of an HTML comment in the line before the fence
}

// Read lists the code blocks of a page.
func Read(path string) ([]Block, error) {
	page, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(string(page)), nil
}

// Parse lists the code blocks of a text. A block that isn't closed ends with the text.
func Parse(page string) []Block {
	var blocks []Block
	var fence, before string // the open fence, and the line before
	n := 0
	for line := range strings.Lines(page) {
		n++
		line = strings.TrimRight(line, "\r\n")
		switch {
		case fence != "" && strings.TrimSpace(line) == fence:
			fence = ""
		case fence != "":
			blocks[len(blocks)-1].Text += line + "\n"
		case strings.HasPrefix(line, "```"):
			language := strings.TrimLeft(line, "`")
			fence = strings.TrimSuffix(line, language)
			blocks = append(blocks, Block{Line: n + 1, Language: strings.TrimSpace(language), Note: comment(before)})
		}
		before = line
	}
	return blocks
}

// comment returns the text of a line that is an HTML comment, or "".
func comment(line string) string {
	text, ok := strings.CutPrefix(strings.TrimSpace(line), "<!--")
	if text, closed := strings.CutSuffix(text, "-->"); ok && closed {
		return strings.TrimSpace(text)
	}
	return ""
}
