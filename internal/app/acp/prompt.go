package acp

import (
	"encoding/base64"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/adze-dev/adze/internal/engine/workspace/names"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// prompted is a prompt of the editor: the typed text, and its attachments.
type prompted struct {
	text  string
	parts []model.Part
}

// readPrompt reads the blocks of a prompt. A link to a file becomes a mention, as if the user had typed @path.
func readPrompt(blocks []content) (prompted, error) {
	var p prompted
	for i, b := range blocks {
		switch b.Type {
		case "text":
			if b.Text == nil {
				return p, errorf(codeInvalidParams, "prompt[%d].text: expected a text", i)
			}
			p.add(*b.Text, i > 0 && blocks[i-1].Type == "text")
		case "resource_link":
			p.add(mention(b.URI, b.Name), false)
		case "image":
			data, err := base64.StdEncoding.DecodeString(b.Data)
			if err != nil || len(data) == 0 || !strings.HasPrefix(b.MIMEType, "image/") {
				return p, errorf(codeInvalidParams, "prompt[%d]: expected an image: base64 data, and a mimeType such "+
					"as image/png", i)
			}
			p.parts = append(p.parts, model.Media{Media: tool.Media{MIMEType: b.MIMEType, Data: data}})
		case "resource":
			part, name, err := embedded(b.Resource, i)
			if err != nil {
				return p, err
			}
			p.add(name, false)
			p.parts = append(p.parts, part)
		case "audio":
			return p, errorf(codeInvalidParams, "prompt[%d]: audio isn't supported", i)
		default:
			return p, errorf(codeInvalidParams, "prompt[%d].type: expected text, image, resource or "+
				"resource_link, got %q", i, b.Type)
		}
	}
	if strings.TrimSpace(p.text) == "" && len(p.parts) == 0 {
		return p, errorf(codeInvalidParams, "prompt: expected at least one block with content")
	}
	return p, nil
}

// add adds the text of a block, separated from the text before it: by a line break if both are texts. Otherwise words
// and paths would be joined, and a mention is only one after whitespace.
func (p *prompted) add(text string, line bool) {
	before, _ := utf8.DecodeLastRuneInString(p.text)
	after, _ := utf8.DecodeRuneInString(text)
	switch {
	case p.text == "" || text == "" || unicode.IsSpace(before) || unicode.IsSpace(after):
	case line:
		p.text += "\n"
	default:
		p.text += " "
	}
	p.text += text
}

// mention returns a link for the text of a prompt.
func mention(uri, name string) string {
	if path := names.FromURI(uri); path != "" {
		_, lines, _ := strings.Cut(uri, "#")
		if lines != "" {
			lines = "#" + lines
		}
		return "@" + strings.NewReplacer(`\`, `\\`, " ", `\ `).Replace(path+lines)
	}
	if name == "" {
		return uri
	}
	return "[" + name + "](" + uri + ")"
}

// embedded returns a resource whose content the editor sends, and its reference in the text.
func embedded(r *resource, i int) (model.Part, string, error) {
	if r == nil || r.Text == nil && r.Blob == "" {
		return nil, "", errorf(codeInvalidParams, "prompt[%d].resource: expected a uri and a text or a blob", i)
	}
	name := r.URI
	if path := names.FromURI(r.URI); path != "" {
		name = path
	}
	if r.Text != nil {
		return model.Text("Content of " + name + ", as the editor sent it:\n" + tool.Fence("", *r.Text)), name, nil
	}
	data, err := base64.StdEncoding.DecodeString(r.Blob)
	if err != nil || r.MIMEType == "" {
		return nil, "", errorf(codeInvalidParams, "prompt[%d].resource: expected a mimeType and base64 in blob", i)
	}
	return model.Media{Media: tool.Media{MIMEType: r.MIMEType, Data: data}}, name, nil
}
