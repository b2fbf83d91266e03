package markdown

import (
	"bytes"
	"strings"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// newParser returns a parser for CommonMark and what models use of GitHub's Markdown: tables, strikethrough, task lists
// and bare links. goldmark's package for these takes 0.7 to 1.7 ms at every start of the program, for expressions and
// tables of HTML attributes.
func newParser() parser.Parser {
	return parser.NewParser(
		parser.WithBlockParsers(parser.DefaultBlockParsers()...),
		parser.WithInlineParsers(append(parser.DefaultInlineParsers(),
			util.Prioritized(taskBoxes{}, 0), util.Prioritized(strikes{}, 500), util.Prioritized(bareLinks{}, 999))...),
		parser.WithParagraphTransformers(append(parser.DefaultParagraphTransformers(),
			util.Prioritized(tables{}, 200))...),
	)
}

// tables makes a table of the lines of a paragraph from the one before a delimiter row on.
type tables struct{}

func (tables) Transform(p *ast.Paragraph, reader text.Reader, _ parser.Context) {
	lines, src := p.Lines(), reader.Source()
	for i := 1; i < lines.Len(); i++ {
		delimiter := lines.At(i)
		align, ok := alignments(delimiter.Value(src))
		if !ok {
			continue
		}
		header := tableCells(lines.At(i-1), src, align, true)
		if header.ChildCount() != len(align) {
			return
		}
		t := east.NewTable()
		t.Alignments = align
		t.AppendChild(t, east.NewTableHeader(header))
		for _, line := range lines.Sliced(i+1, lines.Len()) {
			t.AppendChild(t, tableCells(line, src, align, false))
		}
		parent := p.Parent()
		parent.InsertAfter(parent, p, t)
		if lines.SetSliced(0, i-1); i == 1 {
			parent.RemoveChild(parent, p)
			return
		}
		last := lines.At(i - 2)
		last.Stop-- // its line end
		lines.Set(i-2, last)
		return
	}
}

// alignments reads a delimiter row, such as |:--|--:|.
func alignments(line []byte) (all []east.Alignment, ok bool) {
	if indent, _ := util.IndentWidth(line, 0); indent > 3 || !bytes.ContainsAny(line, "|: \t\n") {
		return nil, false
	}
	columns := bytes.Split(line, []byte{'|'})
	if util.IsBlank(columns[0]) {
		columns = columns[1:]
	}
	if n := len(columns); n > 0 && util.IsBlank(columns[n-1]) {
		columns = columns[:n-1]
	}
	for _, c := range columns {
		c = bytes.TrimSpace(c)
		left, right := bytes.HasPrefix(c, []byte{':'}), bytes.HasSuffix(c, []byte{':'})
		if dashes := bytes.Trim(c, ":"); len(dashes) == 0 || len(c)-len(dashes) > 2 || len(c)-len(dashes) == 2 &&
			!(left && right) || len(bytes.Trim(dashes, "-")) > 0 {
			return nil, false
		}
		align := east.AlignNone
		switch {
		case left && right:
			align = east.AlignCenter
		case left:
			align = east.AlignLeft
		case right:
			align = east.AlignRight
		}
		all = append(all, align)
	}
	return all, len(all) > 0
}

// tableCells reads a row. It has as many cells as there are columns; a header may have more, and then it is none.
func tableCells(line text.Segment, src []byte, align []east.Alignment, header bool) *east.TableRow {
	line = line.TrimLeftSpace(src)
	line = line.TrimRightSpace(src)
	b, row := line.Value(src), east.NewTableRow(align)
	at, end := 0, len(b)
	if end > 0 && b[0] == '|' {
		at++
	}
	if end > 0 && b[end-1] == '|' {
		end--
	}
	for at < end && (header || row.ChildCount() < len(align)) {
		next := at
		for next < end && (b[next] != '|' || next > 0 && b[next-1] == '\\') {
			next++
		}
		cell := east.NewTableCell()
		if n := row.ChildCount(); n < len(align) {
			cell.Alignment = align[n]
		}
		part := text.NewSegment(line.Start+at, line.Start+next)
		part = part.TrimLeftSpace(src)
		cell.Lines().Append(part.TrimRightSpace(src))
		row.AppendChild(row, cell)
		at = next + 1
	}
	for row.ChildCount() < len(align) {
		row.AppendChild(row, east.NewTableCell())
	}
	return row
}

// strikes reads ~~text~~ and ~text~.
type strikes struct{}

func (strikes) Trigger() []byte         { return []byte{'~'} }
func (strikes) IsDelimiter(b byte) bool { return b == '~' }
func (strikes) CanOpenCloser(opener, closer *parser.Delimiter) bool {
	return opener.Char == closer.Char
}
func (strikes) OnMatch(int) ast.Node { return east.NewStrikethrough() }

func (s strikes) Parse(_ ast.Node, block text.Reader, pc parser.Context) ast.Node {
	before := block.PrecendingCharacter()
	line, segment := block.PeekLine()
	d := parser.ScanDelimiter(line, before, 1, s)
	if d == nil || d.OriginalLength > 2 || before == '~' {
		return nil
	}
	d.Segment = segment.WithStop(segment.Start + d.OriginalLength)
	block.Advance(d.OriginalLength)
	pc.PushDelimiter(d)
	return d
}

// taskBoxes reads [ ] and [x] at the start of an item.
type taskBoxes struct{}

func (taskBoxes) Trigger() []byte { return []byte{'['} }

func (taskBoxes) Parse(parent ast.Node, block text.Reader, _ parser.Context) ast.Node {
	item, ok := parent.Parent().(*ast.ListItem)
	if !ok || item.FirstChild() != parent || parent.HasChildren() {
		return nil
	}
	line, _ := block.PeekLine()
	if len(line) < 3 || line[2] != ']' || !strings.ContainsRune("xX \t\n\r\f", rune(line[1])) {
		return nil
	}
	block.Advance(3 + util.TrimLeftSpaceLength(line[3:]))
	return east.NewTaskCheckBox(line[1]|0x20 == 'x')
}

// bareLinks finds addresses in text: https://example.com, www.example.com, me@example.com.
type bareLinks struct{}

// Trigger returns what goes before an address; the space stands for all white space, and for the start of a line.
func (bareLinks) Trigger() []byte { return []byte(beforeLink) }

const beforeLink = " *_~("

func (bareLinks) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	line, segment := block.PeekLine()
	before := 0
	if strings.IndexByte(beforeLink, line[0]) >= 0 {
		before = 1
	}
	line = line[before:]
	kind, n := ast.AutoLinkURL, webAddress(line)
	if n == 0 {
		kind, n = ast.AutoLinkEmail, mailAddress(line)
	}
	if n == 0 || pc.IsInLinkLabel() {
		return nil
	}
	if before > 0 {
		ast.MergeOrAppendTextSegment(parent, segment.WithStop(segment.Start+1))
	}
	n = withoutPunctuation(line[:n])
	start := segment.Start + before
	block.Advance(before + n)
	link := ast.NewAutoLink(kind, ast.NewTextSegment(text.NewSegment(start, start+n)))
	if bytes.HasPrefix(line, []byte("www.")) {
		link.Protocol = []byte("http")
	}
	return link
}

const (
	alphanumeric = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	hostBytes    = alphanumeric + "-@:%._+~#="
	pathBytes    = alphanumeric + "-@:%_+.~#$!?&/=();,'\">^{}[]`"
	maxHost      = 256
)

// span returns how many bytes at the start of b are in a set.
func span(b []byte, set string) int { return len(b) - len(bytes.TrimLeft(b, set)) }

// webAddress returns the length of the URL, or of the name that begins with www., that line begins with; 0: none.
func webAddress(line []byte) int {
	from, path := 0, pathBytes
	if len(line) == 0 || strings.IndexByte("hfw", line[0]) < 0 {
		return 0
	}
	for _, prefix := range []string{"http://", "https://", "ftp://", "www."} {
		if bytes.HasPrefix(line, []byte(prefix)) {
			from = len(prefix)
		}
	}
	if from == 0 {
		return 0
	}
	name := line[0] == 'w' // without a port
	if name {
		path = strings.Replace(path, "$", "", 1)
	}
	host := line[from:][:span(line[from:], hostBytes)]
	for dot := min(len(host)-1, maxHost); dot > 0; dot-- {
		top := span(host[dot+1:], "abcdefghijklmnopqrstuvwxyz")
		if host[dot] != '.' || top == 0 {
			continue
		}
		n := from + dot + 1 + top
		if !name && n < len(line) && line[n] == ':' {
			if digits := span(line[n+1:], "0123456789"); digits > 0 {
				n += 1 + digits
			}
		}
		if n < len(line) && strings.IndexByte("/#?", line[n]) >= 0 {
			n += 1 + span(line[n+1:], path)
		}
		return n
	}
	return 0
}

// mailAddress returns the length of the mail address that line begins with; 0: none.
func mailAddress(line []byte) int {
	if len(line) == 0 || util.IsPunct(line[0]) {
		return 0
	}
	n := util.FindEmailIndex(line)
	if n < 0 || !bytes.Contains(line[bytes.IndexByte(line, '@'):n-1], []byte{'.'}) {
		return 0
	}
	if line[n-1] == '.' {
		n--
	}
	if n < len(line) && (line[n] == '-' || line[n] == '_') {
		return 0
	}
	return n
}

// withoutPunctuation returns the length of an address without what belongs to the sentence around it.
func withoutPunctuation(b []byte) int {
	unopened := bytes.Count(b, []byte{')'}) - bytes.Count(b, []byte{'('})
	n := len(b)
	for n > 1 {
		switch b[n-1] {
		case '?', '!', '.', ',', ':', '*', '_', '~':
			n--
		case ')':
			if unopened <= 0 {
				return n
			}
			unopened, n = unopened-1, n-1
		case ';': // the end of an entity
			name := len(bytes.TrimRight(b[:n-1], alphanumeric))
			if name == n-1 || name < 1 || b[name-1] != '&' {
				return n
			}
			n = name - 1
		default:
			return n
		}
	}
	return n
}
