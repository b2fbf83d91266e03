package serve

//lint:file-ignore SA1019 the roots of clients are deprecated since 2026-07-28; the clients of today have them.

import (
	"context"
	"net/url"
	"path/filepath"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// rootsWait is how long a client may take to say where it works.
const rootsWait = 2 * time.Second

// roots asks the client where it works. A client that does not say has no say.
func roots(ctx context.Context, peer *mcp.ServerSession, caps *mcp.ClientCapabilities) []string {
	if caps.RootsV2 == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, rootsWait)
	defer cancel()
	res, err := peer.ListRoots(ctx, nil)
	if err != nil {
		return nil
	}
	dirs := []string{}
	for _, r := range res.Roots {
		if u, err := url.Parse(r.URI); err == nil && u.Scheme == "file" {
			dirs = append(dirs, filepath.FromSlash(u.Path))
		}
	}
	return dirs
}
