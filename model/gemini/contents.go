package gemini

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/api"
	"github.com/adze-dev/adze/model/internal/sealed"
	"github.com/adze-dev/adze/tool"
)

// encoder writes the messages of one request.
type encoder struct {
	quirks   quirks
	model    string
	sees     bool            // the model accepts media
	sent     map[string]bool // IDs of calls that were sent with their ID: their responses have it too
	rejected sealed.Rejected
}

// content converts a message.
func (e *encoder) content(m model.Message) content {
	switch m.Role {
	case model.Assistant:
		return content{"model", e.assistant(m)}
	case model.Tool:
		return content{"user", e.responses(m)}
	}
	var parts []any
	for _, p := range m.Parts {
		switch p := p.(type) {
		case model.Text:
			if p != "" {
				parts = append(parts, textPart(string(p)))
			}
		case model.Media:
			parts = append(parts, e.media(p.Media))
		}
	}
	return content{"user", parts}
}

// assistant returns the parts of an answer, with their signatures.
func (e *encoder) assistant(m model.Message) []any {
	var parts []any
	var last, first *part // the one that sealed data belongs to, and the first call
	id := ""              // of the last call
	skip := true          // the first call needs a signature that skips the check
	for _, p := range m.Parts {
		var next *part
		switch p := p.(type) {
		case model.Text:
			if p != "" {
				next = textPart(string(p))
			}
		case model.Call:
			next, id = &part{Call: &functionCall{Name: api.Name(p.Name), Args: api.Arguments(p.Args)}}, p.ID
			if first == nil {
				first = next
			}
		case model.Sealed:
			s, ok := e.open(p)
			switch {
			case ok && len(s.Part) > 0:
				parts = append(parts, s.Part)
			case ok && last != nil:
				e.attach(s, last, id)
				if last == first {
					skip = e.quirks.skipAll || e.rejected.Has(p)
				}
			}
		}
		last = next
		if next != nil {
			parts = append(parts, next)
		}
	}
	if first != nil && skip && !signed(first.Signature) && !e.quirks.noSkip {
		first.Signature = skipValidation
	}
	return parts
}

// open reads sealed data for this model, without a rejected signature.
func (e *encoder) open(p model.Sealed) (seal, bool) {
	var s seal
	if !p.For(Name, e.model) || json.Unmarshal(p.JSON, &s) != nil {
		return seal{}, false
	}
	if e.rejected.Has(p) {
		return seal{ID: s.ID}, true
	}
	return s, true
}

// attach adds sealed data to the part before it. An ID is sent back only if the call still has it: repeated IDs were
// replaced.
func (e *encoder) attach(s seal, to *part, id string) {
	to.Signature = s.Signature
	if to.Call != nil && s.ID != "" && s.ID == id {
		to.Call.ID = id
		e.sent[id] = true
	}
}

// entry returns the message for the request. Answers are always read, because responses depend on them.
func (e *encoder) entry(m model.Message) api.Entry {
	write := func() content { return e.content(m) }
	if m.Role == model.Assistant {
		c := e.content(m)
		write = func() content { return c }
	}
	return api.Entry{From: m, Variant: e.withID(m), Values: func() []any {
		if c := write(); len(c.Parts) > 0 { // the server rejects one without parts
			return []any{c}
		}
		return nil
	}}
}

// withID returns a bit set of the responses whose call was sent with its ID, which depends on an earlier message.
func (e *encoder) withID(m model.Message) uint64 {
	var bits uint64
	for i, p := range m.Parts {
		if r, ok := p.(model.Response); ok && e.sent[r.ID] {
			bits |= 1 << (i % 64)
		}
	}
	return bits
}

// responses returns the responses of one turn, in the order of their calls. Media that can't be part of a response
// follow.
func (e *encoder) responses(m model.Message) []any {
	var parts, beside []any
	for _, p := range m.Parts {
		r, ok := p.(model.Response)
		if !ok {
			continue
		}
		out := &functionResponse{Name: api.Name(r.Name)}
		if e.sent[r.ID] {
			out.ID = r.ID
		}
		var text []string
		for _, c := range r.Content {
			switch c := c.(type) {
			case tool.Text:
				text = append(text, string(c))
			case tool.Media:
				media := e.media(c)
				switch {
				case media.Inline == nil:
					text = append(text, *media.Text)
				case e.quirks.beside:
					text = append(text, fmt.Sprintf("[%s: after the results]", c.MIMEType))
					beside = append(beside, textPart(fmt.Sprintf("From %s:", r.Name)), media)
				default:
					out.Parts = append(out.Parts, media)
				}
			}
		}
		key := "output"
		if r.IsError {
			key = "error"
		}
		out.Response = map[string]string{key: strings.Join(text, "\n")}
		parts = append(parts, &part{Response: out})
	}
	return append(parts, beside...)
}

// media returns the image, the sound or the document, or a note in its place.
func (e *encoder) media(m tool.Media) *part {
	if !e.sees || !readable(m.MIMEType) {
		return textPart(fmt.Sprintf("[%s, %d bytes: this model can't read it]", cmp.Or(m.MIMEType, "media"),
			len(m.Data)))
	}
	return &part{Inline: &blob{m.MIMEType, m.Data}}
}

// readable reports whether the API accepts media of a type. It rejects requests with other types.
func readable(mime string) bool {
	switch mime {
	case "image/png", "image/jpeg", "image/webp", "image/heic", "image/heif", "application/pdf", "text/plain":
		return true
	}
	return strings.HasPrefix(mime, "audio/") || strings.HasPrefix(mime, "video/")
}
