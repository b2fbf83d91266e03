package serve

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// modernVersion is the first protocol version without sessions and without requests from server to client.
	modernVersion = "2026-07-28"
	// answerKey is the name of the only question in a result.
	answerKey = "approval"
	// answerTime is how long a question may be answered.
	answerTime = 10 * time.Minute
	// maxOpen is the maximum number of calls that wait for an answer.
	maxOpen = 100
)

// later has the calls of a connection that wait for an answer in a later request. In modern versions of the protocol a
// question is the result of a call, and the client repeats the call with the answer.
//
// The call itself waits: what runs is what was prepared and shown, and Run checks that the files are unchanged. The
// state that the client returns is the ID of the question, when it expires, and a digest of the client, the call and
// the question, with a signature. Each answer is accepted once.
type later struct {
	key     []byte
	allowed time.Duration // time for an answer

	mu   sync.Mutex
	open map[string]*running
}

func newLater(allowed time.Duration) *later {
	key := make([]byte, sha256.Size)
	rand.Read(key)
	return &later{key: key, allowed: allowed, open: map[string]*running{}}
}

// question is an approval request of a running call.
type question struct {
	*mcp.ElicitParams
	answer chan *mcp.ElicitResult // has room for one; nil: it isn't shown
}

// digest identifies what an answer is about.
func (q question) digest(from caller, p *mcp.CallToolParamsRaw) string {
	h := sha256.New()
	_ = json.NewEncoder(h).Encode([]any{from.name, from.version, p.Name, []byte(p.Arguments), q.ElicitParams})
	return hex.EncodeToString(h.Sum(nil))
}

// sign adds a signature to a state.
func (l *later) sign(state string) string {
	h := hmac.New(sha256.New, l.key)
	h.Write([]byte(state))
	return state + "." + hex.EncodeToString(h.Sum(nil))
}

// ask makes a call wait for the answer to its question, and returns the result that asks it: nil if too many wait.
func (l *later) ask(run *running, q question, from caller, p *mcp.CallToolParamsRaw) *mcp.CallToolResult {
	id := rand.Text()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.open) >= maxOpen {
		return nil
	}
	l.open[id] = run
	run.asked = q
	run.late = time.AfterFunc(l.allowed, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.open[id] == run {
			delete(l.open, id)
			run.cancel()
		}
	})
	expires := strconv.FormatInt(time.Now().Add(l.allowed).UnixNano(), 10)
	return typed(&mcp.CallToolResult{
		InputRequests: mcp.InputRequestMap{answerKey: q.ElicitParams},
		RequestState:  l.sign(id + "." + expires + "." + q.digest(from, p)),
	}, "input_required")
}

// take returns the call that a state belongs to, which no longer waits.
func (l *later) take(state string, from caller, p *mcp.CallToolParamsRaw) (*running, error) {
	signed := state[:max(0, strings.LastIndexByte(state, '.'))]
	if !hmac.Equal([]byte(l.sign(signed)), []byte(state)) {
		return nil, invalidState("it is not a state of this server")
	}
	id, rest, _ := strings.Cut(signed, ".")
	expires, digest, _ := strings.Cut(rest, ".")
	at, err := strconv.ParseInt(expires, 10, 64)
	l.mu.Lock()
	defer l.mu.Unlock()
	run := l.open[id]
	switch {
	case err != nil || run == nil || time.Now().UnixNano() > at:
		return nil, invalidState("the approval request was answered or has expired")
	case digest != run.asked.digest(from, p):
		return nil, invalidState("the approval request was for another call or client")
	}
	delete(l.open, id)
	run.late.Stop()
	return run, nil
}

func invalidState(cause string) error {
	text := "invalid requestState: " + cause + "\nCall the tool again without it."
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: text}
}

// typed returns a result of a modern version. The SDK sets the type only for tools that are registered with it.
func typed(res *mcp.CallToolResult, kind string) *mcp.CallToolResult {
	var t mcp.CallToolResult
	_ = json.Unmarshal([]byte(`{"content":[],"resultType":"`+kind+`"}`), &t)
	if res.Content != nil {
		t.Content = res.Content
	}
	t.Meta, t.IsError, t.InputRequests, t.RequestState = res.Meta, res.IsError, res.InputRequests, res.RequestState
	return &t
}
