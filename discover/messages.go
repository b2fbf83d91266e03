package discover

import (
	"context"
	"encoding/json"
	"net/http/httptrace"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Messages is a connection to a server: JSON-RPC messages in both directions.
type Messages interface {
	// Send passes a message on. It doesn't wait for a response.
	Send(ctx context.Context, message json.RawMessage) error
	// Receive waits for the server's next message. Its error ends the connection: io.EOF if Close was called.
	Receive(ctx context.Context) (json.RawMessage, error)
	Close() error
}

// messageTransport makes Messages a transport of the SDK.
type messageTransport struct{ m Messages }

func (t messageTransport) Connect(context.Context) (mcp.Connection, error) {
	return messageConn(t), nil
}

type messageConn struct{ m Messages }

func (c messageConn) SessionID() string { return "" }

func (c messageConn) Close() error { return c.m.Close() }

// Write sends a message, and reports that it is about to: see session.call.
func (c messageConn) Write(ctx context.Context, message jsonrpc.Message) error {
	raw, err := jsonrpc.EncodeMessage(message)
	if err != nil {
		return err
	}
	if trace := httptrace.ContextClientTrace(ctx); trace != nil && trace.GotConn != nil {
		trace.GotConn(httptrace.GotConnInfo{})
	}
	return c.m.Send(ctx, raw)
}

// Read returns the next message. It skips what isn't one.
func (c messageConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		raw, err := c.m.Receive(ctx)
		if err != nil {
			return nil, err
		}
		if message, err := jsonrpc.DecodeMessage(raw); err == nil {
			return message, nil
		}
	}
}

// state is where what is known of the server is kept; "" for one that has no configuration to recognize it by.
func (l *link) state() string {
	if l.kind == dialed {
		return ""
	}
	return l.opt.State
}
