package discover

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adze-dev/adze/tool"
)

// maxFrame is the longest message that is read whole. A longer one is read to its end and dropped.
const maxFrame = 10 << 20

// frame is one line of a server's stdout.
type frame struct {
	line []byte // valid until the next read; the first bytes of it if it was too long
	tail []byte // the last bytes of a line that was too long
	size int64  // of the whole line
	over bool   // it was too long
}

// keepOver is how much of each end of a line that is too long is kept, to see whose answer it was.
const keepOver = 512

// frames reads lines in bounded memory, however long they are.
type frames struct {
	r     *bufio.Reader
	limit int
	most  int64 // a line that is longer is not read to its end; 0: every line is
	buf   []byte
}

// endless is the error of a line that is longer than frames.most.
type endless int64

func (e endless) Error() string {
	return fmt.Sprintf("it printed %d MB without a line break", int64(e)>>20)
}

func newFrames(r io.Reader, limit int) *frames {
	return &frames{r: bufio.NewReaderSize(r, 64<<10), limit: limit}
}

// next reads a line without its end. The last line may lack one.
func (f *frames) next() (frame, error) {
	f.buf = f.buf[:0]
	if cap(f.buf) > 1<<20 {
		f.buf = nil // one long message does not hold its memory for ever
	}
	var fr frame
	for {
		piece, err := f.r.ReadSlice('\n')
		fr.size += int64(len(piece))
		switch {
		case fr.over:
			fr.tail = lastBytes(append(fr.tail, piece...))
		case len(f.buf)+len(piece) > f.limit+1: // the line end does not count
			fr.over = true
			fr.tail = lastBytes(append(bytes.Clone(lastBytes(f.buf)), piece...))
			head := bytes.Clone(f.buf[:min(len(f.buf), keepOver)])
			f.buf = append(head, piece[:min(len(piece), keepOver-len(head))]...)
		default:
			f.grow(len(piece))
			f.buf = append(f.buf, piece...)
		}
		if f.most > 0 && fr.size > f.most {
			return frame{}, endless(fr.size)
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		if err != nil && fr.size == 0 {
			return frame{}, err
		}
		fr.line = bytes.TrimRight(f.buf, "\r\n")
		if !fr.over && len(fr.line) > f.limit {
			fr.over, fr.tail = true, bytes.Clone(lastBytes(fr.line))
			fr.line = fr.line[:min(len(fr.line), keepOver)]
		}
		return fr, nil
	}
}

// grow makes room by doubling: append's own steps are smaller, and all that it leaves behind is memory too.
func (f *frames) grow(n int) {
	if need := len(f.buf) + n; need > cap(f.buf) {
		f.buf = append(make([]byte, 0, min(max(2*cap(f.buf), need), f.limit+64<<10)), f.buf...)
	}
}

func lastBytes(b []byte) []byte {
	if len(b) <= keepOver {
		return b
	}
	return append([]byte(nil), b[len(b)-keepOver:]...)
}

// The two places where an answer names its request. They are compiled when first needed, not at every start.
var (
	idAtStart = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d{1,18}|"[^"\\]{1,100}")\s*,\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"(?:result|error)"`)
	})
	idAtEnd = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\}\s*,\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d{1,18}|"[^"\\]{1,100}")\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`)
	})
)

// answered is the id, as JSON, of the request that a line too long to read seems to answer. It is only a guess: an ID
// without a request is dropped later, like every stray answer.
func (fr frame) answered() []byte {
	if m := idAtStart().FindSubmatch(fr.line); m != nil {
		return m[1]
	}
	if m := idAtEnd().FindSubmatch(fr.tail); m != nil {
		return m[1]
	}
	return nil
}

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

// maxMended is how long a message may be that is looked through for mistakes: it is parsed twice.
const maxMended = 1 << 20

// readable mends answers that the SDK could not read, and would give up for one bad entry. A tool in a list becomes
// null, a piece of content a text that says so; a content that is a text becomes a list of it.
func (p *process) readable(raw json.RawMessage) json.RawMessage {
	if len(raw) > maxMended || !bytes.Contains(raw, []byte(`"result"`)) {
		return raw
	}
	var msg struct {
		Version json.RawMessage            `json:"jsonrpc"`
		ID      json.RawMessage            `json:"id"`
		Result  map[string]json.RawMessage `json:"result"`
	}
	if json.Unmarshal(raw, &msg) != nil || msg.Result == nil {
		return raw
	}
	repaired := p.repairTools(msg.Result)
	if !p.repairContent(msg.Result) && !repaired {
		return raw
	}
	out, err := json.Marshal(msg)
	if err != nil {
		return raw
	}
	return out
}

// repairTools puts null in the place of every tool that cannot be read.
func (p *process) repairTools(result map[string]json.RawMessage) bool {
	return repairEach(result, "tools", func(i int, one json.RawMessage) json.RawMessage {
		err := json.Unmarshal(one, &mcp.Tool{})
		if err == nil {
			return one
		}
		p.log.printf("ignored tool %d, which can't be read: %s", i+1, misread(err))
		return json.RawMessage("null")
	})
}

// repairContent says of every piece of content that cannot be read why.
func (p *process) repairContent(result map[string]json.RawMessage) bool {
	var text string
	if json.Unmarshal(result["content"], &text) == nil && len(result["content"]) > 0 && result["content"][0] == '"' {
		result["content"] = json.RawMessage(`[{"type":"text","text":` + string(result["content"]) + `}]`)
		return true
	}
	return repairEach(result, "content", func(i int, one json.RawMessage) json.RawMessage {
		var probe mcp.CallToolResult
		whole := append(append([]byte(`{"content":[`), one...), `]}`...)
		err := json.Unmarshal(whole, &probe)
		if err == nil {
			return one
		}
		p.log.printf("part %d of a response can't be read: %v", i+1, err)
		note, _ := json.Marshal(fmt.Sprintf("[part %d of the response can't be read: %s]", i+1, contentKind(one)))
		return json.RawMessage(`{"type":"text","text":` + string(note) + `}`)
	})
}

// contentKind names what a piece of content is, as far as it says so.
func contentKind(one json.RawMessage) string {
	var m struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(one, &m) != nil || m.Type == "" {
		return "it has no type"
	}
	return fmt.Sprintf("its type is %q", clip(m.Type, 80))
}

// repairEach changes the entries of a list, and reports whether any is another one now.
func repairEach(result map[string]json.RawMessage, key string, repair func(int, json.RawMessage) json.RawMessage) bool {
	var entries []json.RawMessage
	if len(result[key]) == 0 || json.Unmarshal(result[key], &entries) != nil {
		return false
	}
	repaired := false
	for i, one := range entries {
		if other := repair(i, one); !bytes.Equal(one, other) {
			entries[i], repaired = other, true
		}
	}
	if repaired {
		list, err := json.Marshal(entries)
		if err != nil {
			return false
		}
		result[key] = list
	}
	return repaired
}

// taskKey is where marked notes, in a tool's _meta, that the tool can only be called as a task.
const taskKey = "adze.dev/taskSupport"

// marked moves a tool's execution.taskSupport, of which the SDK knows nothing, to where the SDK passes it on. Tools that
// can only be called as tasks cannot be called here, so they are not offered.
func marked(raw json.RawMessage) json.RawMessage {
	if !bytes.Contains(raw, []byte(`"taskSupport"`)) || !bytes.Contains(raw, []byte(`"required"`)) {
		return raw
	}
	var msg map[string]json.RawMessage
	var result map[string]json.RawMessage
	var tools []map[string]json.RawMessage
	if json.Unmarshal(raw, &msg) != nil || json.Unmarshal(msg["result"], &result) != nil || json.Unmarshal(result["tools"], &tools) != nil {
		return raw
	}
	for _, t := range tools {
		var execution struct {
			TaskSupport string `json:"taskSupport"`
		}
		if json.Unmarshal(t["execution"], &execution) != nil || execution.TaskSupport != "required" {
			continue
		}
		meta := map[string]any{}
		if t["_meta"] != nil && json.Unmarshal(t["_meta"], &meta) != nil {
			continue
		}
		meta[taskKey] = "required"
		if m, err := json.Marshal(meta); err == nil {
			t["_meta"] = m
		}
	}
	var err error
	if result["tools"], err = json.Marshal(tools); err != nil {
		return raw
	}
	b, err := json.Marshal(result)
	if err != nil {
		return raw
	}
	msg["result"] = b
	if b, err = json.Marshal(msg); err != nil {
		return raw
	}
	return b
}

const (
	tailLines = 8   // of stderr that a failed start shows
	tailLine  = 300 // characters of one of them
)

// exitReason remembers the end of a server's stderr, and the line of it that says best why it ended: the last one that
// speaks of an error, else the last one. Below an error there often stands where it came from, and a version.
type exitReason struct {
	mu          sync.Mutex
	last, error string
	tail        []string
}

func (w *exitReason) add(line string) {
	whole := strings.TrimRight(line, " \t\r\n")
	if line = strings.TrimSpace(line); line == "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !strings.HasPrefix(line, "at ") { // a frame of a JavaScript stack: the error stands above many of them
		if len(w.tail) == tailLines {
			w.tail = append(w.tail[:0], w.tail[1:]...)
		}
		w.tail = append(w.tail, tool.Visible(clip(whole, tailLine)))
	}
	w.last = line
	if low := strings.ToLower(line); strings.Contains(low, "error:") || strings.Contains(low, "fatal") || strings.Contains(low, "panic:") {
		w.error = line
	}
}

// said continues a sentence on how the server ended.
func (w *exitReason) said() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	line := orElse(w.error, w.last)
	if line == "" {
		return ""
	}
	return "; stderr: " + tool.Visible(clip(line, tailLine))
}

// lines continues a message on a start with the last lines of stderr, below it if there are several.
func (w *exitReason) lines() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch len(w.tail) {
	case 0:
		return ""
	case 1:
		return "; stderr: " + strings.TrimSpace(w.tail[0])
	}
	return "; stderr:\n    " + strings.Join(w.tail, "\n    ")
}

// failedStart is the error of a start, with the end of what the server printed on stderr.
type failedStart struct {
	cause  error
	stderr string // see exitReason.lines
}

func (e *failedStart) Error() string { return e.cause.Error() + e.stderr }

func (e *failedStart) Unwrap() error { return e.cause }
