package discover

//lint:file-ignore SA1019 roots, sampling and logging are deprecated since 2026-07-28; the servers of today use them.

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// offerRootsAndLogging tells a server that it may ask for directories, if there are any to tell of, and may log.
func (s *session) offerRootsAndLogging(o *mcp.ClientOptions) {
	if len(s.link.conf.Roots) > 0 {
		o.Capabilities.RootsV2 = &mcp.RootCapabilities{ListChanged: true}
	}
	o.LoggingMessageHandler = func(_ context.Context, r *mcp.LoggingMessageRequest) {
		s.link.log.add(string(r.Params.Level), said(r.Params))
	}
}

// listen asks the server for its log, so that there is something to show on demand. One that refuses is none the worse.
func (s *session) listen(ctx context.Context) {
	if caps := s.cs.InitializeResult().Capabilities; caps != nil && caps.Logging != nil {
		s.cs.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: "info"})
	}
}

// said is a log message as text.
func said(p *mcp.LoggingMessageParams) string {
	if text, ok := p.Data.(string); ok {
		return text
	}
	raw, err := json.Marshal(p.Data)
	if err != nil { // it came from JSON
		return fmt.Sprint(p.Data)
	}
	return string(raw)
}

// announce sends the server the directories that the user configured as roots, and no others.
func (s *session) announce(roots []string) {
	var list []*mcp.Root
	for _, dir := range roots {
		u := url.URL{Scheme: "file", Path: filepath.ToSlash(dir)}
		list = append(list, &mcp.Root{URI: u.String(), Name: filepath.Base(dir)})
	}
	if len(list) > 0 {
		s.client.AddRoots(list...)
	}
}
