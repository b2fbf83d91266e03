package discover

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/adze-dev/adze/discover/internal/clean"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/tool"
)

const (
	readResource  = "read_mcp_resource"
	readParameter = `{"type":"object","properties":{"uri":{"type":"string",` +
		`"description":"URI of the resource. Omit it to list all resources of the server."}}}`
	maxResourceList = 2000 // characters of resources in a description, which every request has
	maxResourceLine = 300  // characters of one resource
)

// ResourceTool returns the name of the tool that reads a server's resources.
func ResourceTool(alias string) string { return clean.Name(alias, readResource) }

// resourceTool reads the resources of a server. It is a tool of the server, so that rules, trust and approvals of the
// server apply to it.
type resourceTool struct {
	link        *link
	declaration tool.Declaration
	input       lazySchema
}

// resourceTool returns the tool that reads the server's resources; nil if it has none, its configuration excludes the
// tool, or the server has a tool of that name.
func (l *link) resourceTool() tool.Tool {
	list := l.resources()
	if len(list) == 0 || !l.conf.offers(readResource) ||
		slices.ContainsFunc(l.offered(), func(r remote) bool { return r.Name == readResource }) {
		return nil
	}
	aliases := []string{"mcp__" + l.alias + "__" + readResource}
	if l.set.alone {
		aliases = append(aliases, readResource)
	}
	sum := sha256.Sum256([]byte(l.conf.Identity() + "\x00" + readResource))
	return &resourceTool{link: l, declaration: tool.Declaration{
		Name: ResourceTool(l.alias), DisplayName: fmt.Sprintf("%s (%s)", readResource, l.alias),
		Description: fmt.Sprintf("Reads a resource of the MCP server %s: data that the server offers by URI. "+
			"In the URI of a template, replace {…}.\nResources:\n%s", l.alias, listResources(list, maxResourceList)),
		Parameters: json.RawMessage(readParameter), Kind: tool.Other, Aliases: aliases, Origin: Origin(l.alias),
		Fingerprint: hex.EncodeToString(sum[:]), // the list isn't in it: approvals stay valid when it changes
	}}
}

// resources returns the resources that the server listed.
func (l *link) resources() []Resource {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.manifest == nil {
		return nil
	}
	return l.manifest.Resources
}

// listResources describes resources, one a line, in at most so many characters.
func listResources(list []Resource, most int) string {
	var b strings.Builder
	for i, r := range list {
		line, _ := clean.Text(r.URI, maxResourceLine)
		if r.Template {
			line += " (template)"
		}
		about, _ := clean.Text(cmp.Or(r.Description, r.Title, r.Name), maxResourceLine)
		line = strings.Join(strings.Fields(humanize.Shorten("- "+line+" "+about, maxResourceLine)), " ")
		if b.Len()+len(line) > most {
			fmt.Fprintf(&b, "- … and %d more: call the tool without uri to list them\n", len(list)-i)
			break
		}
		b.WriteString(line + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Declaration implements [tool.Tool].
func (t *resourceTool) Declaration() tool.Declaration { return t.declaration }

// Prepare implements [tool.Tool].
func (t *resourceTool) Prepare(_ context.Context, raw json.RawMessage) (*tool.Invocation, error) {
	args, notes, err := t.input.arguments(t.declaration.Parameters, raw)
	if err != nil {
		return nil, err
	}
	var given struct {
		URI string `json:"uri"`
	}
	if err := json.Unmarshal(args, &given); err != nil {
		return nil, err
	}
	about := "list the resources of MCP server " + t.link.alias
	if given.URI != "" {
		about = fmt.Sprintf("read %s from MCP server %s", given.URI, t.link.alias)
	}
	return &tool.Invocation{
		Description: about, Access: []tool.Access{tool.Anything}, Confirm: tool.Literal(indent(args)), Notes: notes,
		Run: func(ctx context.Context, _ *tool.Live) (tool.Result, error) {
			if given.URI == "" {
				text := listResources(t.link.resources(), maxItems*maxResourceLine)
				return tool.Result{Content: []tool.Part{tool.Text(text)}}, nil
			}
			content, err := t.link.set.Read(ctx, t.link.alias, given.URI)
			switch {
			case ctx.Err() != nil:
				return tool.Result{}, ctx.Err()
			case err != nil:
				return tool.Result{}, tool.Errorf(FailedMCP, "%w\nOmit uri to list the resources.", err)
			}
			return tool.Result{Content: content}, nil
		},
	}, nil
}
