package discover

import "fmt"

// How much a server may print that is no message, in a row. One that has said nothing right yet is no server of MCP.
const (
	firstLines  = 1000
	firstBytes  = 1 << 20
	laterLines  = 100_000
	laterBytes  = 64 << 20
	loggedLines = 100     // of a row
	endlessLine = 4 << 30 // a line that is longer has no end
)

// strayOutput counts what a server prints beside messages: many print a banner, some their log, and "yes" for ever.
type strayOutput struct {
	log   *serverLog
	spoke bool // it has said something right
	first string
	lines int
	bytes int64
}

// add notes a line that is no message. The error says that it is enough.
func (n *strayOutput) add(line string) error {
	if n.lines++; n.lines == 1 {
		n.first = clip(line, 80)
	}
	n.bytes += int64(len(line))
	if n.lines <= loggedLines {
		n.log.add("stdout", line)
	}
	mostLines, mostBytes := firstLines, int64(firstBytes)
	if n.spoke {
		mostLines, mostBytes = laterLines, laterBytes
	}
	if n.lines > mostLines || n.bytes > mostBytes {
		return fmt.Errorf("it printed %d lines in a row that are not MCP messages, starting with %q", n.lines, n.first)
	}
	return nil
}

// end notes that a message has come.
func (n *strayOutput) end() {
	if more := n.lines - loggedLines; more > 0 {
		n.log.printf("it printed %d more lines that are not messages", more)
	}
	n.spoke, n.first, n.lines, n.bytes = true, "", 0, 0
}
