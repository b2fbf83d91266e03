package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/adze-dev/adze/internal/engine/lines"
)

// maxMessage is the maximum length of a line. The SDK's transport has no limit.
const maxMessage = 16 << 20

// The JSON-RPC errors about a line.
const (
	parseError     = -32700
	invalidRequest = -32600
)

// input is the input of a connection, restricted to valid messages. An invalid line gets a JSON-RPC error; the SDK
// would close the connection, with all running calls.
type input struct {
	io.Closer
	lines *lines.Reader
	out   io.Writer

	open  *unanswered
	rest  []byte // rest of a valid message
	batch bool   // the client uses the one protocol version that has batches
}

func newInput(in io.ReadCloser, out *answers) *input {
	return &input{Closer: in, lines: lines.New(in, maxMessage), out: out, open: out.open}
}

func (l *input) Read(p []byte) (int, error) {
	for len(l.rest) == 0 {
		line, err := l.lines.Next()
		switch {
		case err != nil:
			l.open.drain()
			return 0, err
		case line.Long:
			l.refuse(line.Member("id"), invalidRequest,
				fmt.Sprintf("message too large (limit: %d MB)", maxMessage>>20))
		case len(bytes.TrimSpace(line.Text)) > 0:
			l.pass(append(line.Text, '\n'))
		}
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// pass forwards a message, or responds to an invalid one.
func (l *input) pass(line []byte) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Version string `json:"protocolVersion"`
		} `json:"params"`
	}
	switch {
	case !json.Valid(line):
		l.refuse(nil, parseError, "parse error: not valid JSON (send one message per line)")
		return
	case bytes.TrimSpace(line)[0] == '[':
		if !l.batch {
			l.refuse(nil, invalidRequest, "batches are not supported in this protocol version; send one "+
				"message per line")
			return
		}
	default:
		if _, err := jsonrpc.DecodeMessage(line); err != nil {
			_ = json.Unmarshal(line, &m) // as far as possible
			l.refuse(m.ID, invalidRequest, "not a valid JSON-RPC 2.0 message: "+err.Error())
			return
		}
		known := json.Unmarshal(line, &m)
		if bytes.ContainsAny(m.ID, ".eE") && m.ID[0] != '"' {
			l.refuse(m.ID, invalidRequest, "id must be a string or an integer") // the SDK would respond to another ID
			return
		}
		if known == nil && m.Method == "initialize" {
			l.batch = m.Params.Version == "2025-03-26"
		}
	}
	if used := l.open.asked(line); used != "" {
		l.refuse(nil, invalidRequest, "request ID "+used+" is in use")
		return
	}
	l.rest = line
}

// refuse responds to an invalid line with an error.
func (l *input) refuse(id json.RawMessage, code int, message string) {
	if len(id) == 0 || id[0] == '{' || id[0] == '[' {
		id = json.RawMessage("null")
	}
	answer, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": message},
	})
	if err == nil {
		_, _ = l.out.Write(append(answer, '\n')) // a client that is gone is detected at the next read
	}
}
