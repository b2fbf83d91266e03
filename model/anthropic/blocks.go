package anthropic

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/api"
	"github.com/adze-dev/adze/tool"
)

// The roles of messages.
const (
	user      = "user"
	assistant = "assistant"
)

// message is a message of a request.
type message struct {
	role   string
	blocks []block // at least one
	from   model.Message
}

// block is a part of a message's content.
type block struct {
	Type   string  `json:"type"`
	Text   string  `json:"text,omitempty"`
	Source *source `json:"source,omitempty"` // of an image or a document

	ID    string          `json:"id,omitempty"` // of a call
	Name  string          `json:"name,omitempty"`
	Input json.RawMessage `json:"input,omitempty"`

	ToolUseID string  `json:"tool_use_id,omitempty"` // of a result
	Content   []block `json:"content,omitempty"`
	IsError   bool    `json:"is_error,omitempty"`

	Cache *cacheMark `json:"cache_control,omitempty"`

	sealed json.RawMessage // written instead of the others
}

type source struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      string `json:"data"`
}

// answered returns the blocks of an assistant message. Sealed data is its own block.
func (m *Model) answered(msg model.Message) []block {
	var out []block
	spoken := false
	for _, p := range msg.Parts {
		switch p := p.(type) {
		case model.Text:
			if filled(string(p)) {
				out, spoken = append(out, textBlock(string(p))), true
			}
		case model.Call:
			spoken = true
			out = append(out, block{
				Type: "tool_use", ID: api.ID(p.ID), Name: api.Name(p.Name), Input: api.Arguments(p.Args),
			})
		case model.Sealed:
			if p.For(Name, m.name) && !m.rejected.Has(p) && json.Valid(p.JSON) &&
				bytes.HasPrefix(p.JSON, []byte("{")) {
				out = append(out, block{sealed: p.JSON})
			}
		}
	}
	if !spoken {
		return nil // a message with only thinking is rejected
	}
	return out
}

// responded returns the results of calls.
func responded(msg model.Message, sees bool) []block {
	var out []block
	for _, p := range msg.Parts {
		r, ok := p.(model.Response)
		if !ok {
			continue
		}
		b := block{Type: "tool_result", ToolUseID: api.ID(r.ID), IsError: r.IsError}
		for _, c := range r.Content {
			switch c := c.(type) {
			case tool.Text:
				if filled(string(c)) {
					b.Content = append(b.Content, textBlock(string(c)))
				}
			case tool.Media:
				b.Content = append(b.Content, mediaBlock(c, sees))
			}
		}
		if slices.ContainsFunc(b.Content, func(c block) bool { return c.Source != nil }) {
			b.IsError = false // an error can only have text, and its text says that it is an error
		}
		out = append(out, b)
	}
	return out
}

// prompted returns the blocks of the user's message.
func prompted(msg model.Message, sees bool) []block {
	var out []block
	for _, p := range msg.Parts {
		switch p := p.(type) {
		case model.Text:
			if filled(string(p)) {
				out = append(out, textBlock(string(p)))
			}
		case model.Media:
			out = append(out, mediaBlock(p.Media, sees))
		}
	}
	return out
}

// filled reports whether a text can be a block: the server rejects those without a visible character.
func filled(s string) bool { return strings.TrimSpace(s) != "" }

func textBlock(s string) block { return block{Type: "text", Text: s} }

// maxImage is the maximum size of an image, in base64.
const maxImage = 5 << 20

// pictures are the image types that the server accepts.
var pictures = []string{"image/jpeg", "image/png", "image/gif", "image/webp"}

const pdf = "application/pdf"

// mediaBlock returns an image or a document, or a note in its place. An image that the server rejects would fail this
// request and all later ones of the conversation.
func mediaBlock(m tool.Media, sees bool) block {
	kind, why := m.MIMEType, "this model can't read it"
	if found := http.DetectContentType(m.Data); found == pdf || slices.Contains(pictures, found) {
		kind = found // the server compares the type with the data
	}
	data := block{Source: &source{"base64", kind, base64.StdEncoding.EncodeToString(m.Data)}}
	switch {
	case !sees || len(m.Data) == 0:
	case kind == pdf:
		data.Type = "document"
		return data
	case !slices.Contains(pictures, kind):
	case len(data.Source.Data) > maxImage:
		why = "larger than the 5 MB that the server accepts"
	default:
		data.Type = "image"
		return data
	}
	return textBlock(fmt.Sprintf("[%s, %d bytes: %s]", cmp.Or(m.MIMEType, "media"), len(m.Data), why))
}
