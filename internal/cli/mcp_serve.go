package cli

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/internal/session"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/serve"
	"github.com/adze-dev/adze/tool"
)

// mcpServe offers the built-in tools to another program. Nothing but the protocol goes to stdout.
func mcpServe(ctx context.Context, env Env, o *options, words []string) error {
	if err := takes(words, 0, "mcp serve [--cwd DIR] [--approval-mode MODE] [--tools a,b] [--http 127.0.0.1:PORT]"); err != nil {
		return err
	}
	out := env.Stdout
	env.Terminal = false // who is at the other end is asked through the protocol
	env.Stdout = io.Discard
	names, dir, err := offered(env, o)
	if err != nil {
		return err
	}
	server := serve.New(serve.Options{
		Version: env.Version, Tools: names, Abroad: []string{builtin.WebSearchTool},
		Instructions: "The tools work in " + dir + ". Paths are absolute.",
		Session: func(c serve.Client) (*tool.Executor, func(), error) {
			return openConnection(env, o, dir, c)
		},
	})
	if o.http != "" {
		return serveHTTP(ctx, env, server, o.http)
	}
	err = server.Stdio(ctx, io.NopCloser(env.Stdin), kept{out})
	if errors.Is(err, context.Canceled) {
		return exitf(exitInterrupted, "")
	}
	return err
}

// kept is an output that is not the protocol's to close.
type kept struct{ io.Writer }

func (kept) Close() error { return nil }

// offered are the names of the tools to offer, nil for all, and the directory they work in. It opens a session to find out, so that
// settings that cannot be used stop the start and not the first call.
func offered(env Env, o *options) (names []string, dir string, err error) {
	s, err := openSession(env, o, session.Options{})
	if err != nil {
		return nil, "", err
	}
	defer closeSession(env, s)
	if o.tools == "" {
		return nil, s.Folder.Path, nil
	}
	for name := range strings.SplitSeq(o.tools, ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		t, err := s.Executor.Registry.Lookup(name)
		if err != nil {
			return nil, "", usagef("--tools: %v", err)
		}
		d := t.Declaration()
		if d.Needs != "" {
			return nil, "", usagef("--tools: %s needs a %s, which an MCP client doesn't provide", d.Name, d.Needs)
		}
		names = append(names, d.Name)
	}
	if names == nil {
		return nil, "", usagef("--tools: no tool named\nSee 'adze tool list'.")
	}
	return names, s.Folder.Path, nil
}

// openConnection is the session of one client.
func openConnection(env Env, o *options, dir string, c serve.Client) (*tool.Executor, func(), error) {
	within := narrowed(dir, c.Roots)
	if len(c.Roots) > 0 && within == nil && !slices.ContainsFunc(c.Roots, func(root string) bool { return inside(session.Canonical(root), dir) }) {
		env.tell(fmt.Sprintf("the client works in %s, outside %s; the tools work in %[2]s",
			tool.Visible(strings.Join(c.Roots, ", ")), dir))
	}
	quiet := env
	quiet.Stderr = io.Discard // it was all said when the server began
	s, err := openSession(quiet, o, session.Options{Within: within, Record: &session.Recording{Off: o.record.off}})
	if err != nil {
		return nil, nil, err
	}
	s.Executor.Ask = s.Asking(remembering(c.Ask, s.Policy, filepath.Join(s.Folder.Home, "settings.json")))
	return s.Executor, func() { closeSession(env, s) }, nil
}

// remembering keeps the rules of saved approvals while the connection is open. The result of a denied call names the rule
// that would allow it.
func remembering(ask tool.Asker, policy *permission.Policy, settings string) tool.Asker {
	return func(ctx context.Context, r tool.Request, why tool.Decision) (tool.Decision, error) {
		d, err := ask(ctx, r, why)
		var denied *serve.Denied
		if errors.As(err, &denied) {
			denied.Next = allowing(r, why, policy.Flags(r), settings)
		}
		if err == nil && d.Remember != "" {
			policy.Remember(r, d.Remember)
		}
		return d, err
	}
}

// allowing tells the client's model how its user can allow a call: the smallest rule first.
func allowing(r tool.Request, why tool.Decision, flags []string, settings string) string {
	if r.MustAsk {
		return "Tell the user: only an approval in a client that shows approval requests allows this; no rule does."
	}
	var ways []string
	if len(why.Offer) > 0 {
		rules := strings.Join(permission.SplitOffer(why.Offer[0]), " and ")
		ways = append(ways, fmt.Sprintf("add the rule %s to permissions.allow in %s", rules, settings))
	}
	if len(flags) > 0 {
		ways = append(ways, "run adze mcp serve with "+flags[0])
	}
	if ways == nil {
		return "Tell the user that no rule and no flag allows this."
	}
	return "Tell the user how to allow it: " + strings.Join(ways, ", or ") + "."
}

// narrowed are the client's directories in the workspace; nil: it stays unchanged.
func narrowed(dir string, roots []string) []string {
	var within []string
	for _, root := range roots {
		real := session.Canonical(root)
		switch {
		case inside(real, dir): // all of the workspace, and more that is none of ours
			return nil
		case inside(dir, real):
			within = append(within, real)
		}
	}
	return within
}

// inside reports whether path is dir or below it.
func inside(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

func serveHTTP(ctx context.Context, env Env, server *serve.Server, address string) error {
	if err := serve.CheckAddress(address); err != nil {
		return usagef("--http: %v", err)
	}
	token, shown := env.Getenv("ADZE_MCP_TOKEN"), "(ADZE_MCP_TOKEN)"
	if token == "" {
		var b [24]byte
		rand.Read(b[:])
		token = hex.EncodeToString(b[:])
		shown = token + "  (set ADZE_MCP_TOKEN to choose your own)"
	}
	err := server.HTTP(ctx, address, token, func(url string) {
		fmt.Fprintf(env.Stderr, "Serving MCP at %s\nAuthorization: Bearer %s\n", url, shown)
	})
	if errors.Is(err, context.Canceled) {
		return exitf(exitInterrupted, "")
	}
	return err
}
