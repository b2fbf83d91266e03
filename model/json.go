package model

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/tool"
)

// In JSON a message is {"role":"…","parts":[…]} and a part is an object with one key that says what it is:
//
//	{"text":"…"} {"media":{"mimeType":"image/png","data":"base64"}}
//	{"thought":"…"} {"sealed":{"api":"…","model":"…","json":"…"}}      "base64" has sealed data that is not UTF-8
//	{"call":{"id":"…","name":"…","args":{…}}}          "said" has args that are not JSON, as a string
//	{"response":{"id":"…","name":"…","result":{"llmContent":…},"isError":true,"denied":true}}
type partJSON struct {
	Text     *string       `json:"text,omitempty"`
	Thought  *Thought      `json:"thought,omitempty"`
	Call     *Call         `json:"call,omitempty"`
	Sealed   *Sealed       `json:"sealed,omitempty"`
	Response *responseJSON `json:"response,omitempty"`
	Media    *mediaJSON    `json:"media,omitempty"`
}

type messageJSON struct {
	Role  Role       `json:"role"`
	Parts []partJSON `json:"parts"`
}

type responseJSON struct {
	ID      string      `json:"id"`
	Name    string      `json:"name"`
	Result  tool.Result `json:"result"`
	IsError bool        `json:"isError,omitempty"`
	Denied  bool        `json:"denied,omitempty"`
}

type mediaJSON struct {
	MIMEType string `json:"mimeType"`
	Data     []byte `json:"data"`
}

type callJSON struct {
	ID   string          `json:"id"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args,omitempty"`
	Said *string         `json:"said,omitempty"`
	By   string          `json:"by,omitempty"`
}

// MarshalJSON writes the message.
func (m Message) MarshalJSON() ([]byte, error) {
	out := messageJSON{Role: m.Role, Parts: make([]partJSON, 0, len(m.Parts))}
	for _, p := range m.Parts {
		var o partJSON
		switch p := p.(type) {
		case Text:
			o.Text = (*string)(&p)
		case Thought:
			o.Thought = &p
		case Call:
			o.Call = &p
		case Sealed:
			o.Sealed = &p
		case Response:
			o.Response = &responseJSON{p.ID, p.Name, tool.Result{Content: p.Content}, p.IsError, p.Denied}
		case Media:
			o.Media = &mediaJSON{p.MIMEType, p.Data}
		default:
			return nil, fmt.Errorf("write a message of %s: a part of unknown type %T", m.Role, p)
		}
		out.Parts = append(out.Parts, o)
	}
	return humanize.JSON(out)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (m *Message) UnmarshalJSON(b []byte) error {
	var in messageJSON
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	*m = Message{Role: in.Role}
	for i, p := range in.Parts {
		switch {
		case p.Text != nil:
			m.Parts = append(m.Parts, Text(*p.Text))
		case p.Thought != nil:
			m.Parts = append(m.Parts, *p.Thought)
		case p.Call != nil:
			m.Parts = append(m.Parts, *p.Call)
		case p.Sealed != nil:
			m.Parts = append(m.Parts, *p.Sealed)
		case p.Response != nil:
			r := p.Response
			m.Parts = append(m.Parts, Response{r.ID, r.Name, r.Result.Content, r.IsError, r.Denied})
		case p.Media != nil:
			m.Parts = append(m.Parts, Media{tool.Media{MIMEType: p.Media.MIMEType, Data: p.Media.Data}})
		default:
			return fmt.Errorf("read a message of %s: part %d is not a text, thought, call, sealed, response or media",
				in.Role, i)
		}
	}
	return nil
}

// sealedJSON has the data as a string: encoding/json changes the whitespace and the escapes of raw JSON.
type sealedJSON struct {
	API    string  `json:"api"`
	Model  string  `json:"model"`
	JSON   *string `json:"json,omitempty"`
	Base64 []byte  `json:"base64,omitempty"`
}

// MarshalJSON writes the sealed data.
func (s Sealed) MarshalJSON() ([]byte, error) {
	out := sealedJSON{API: s.API, Model: s.Model}
	if utf8.Valid(s.JSON) {
		text := string(s.JSON)
		out.JSON = &text
	} else {
		out.Base64 = s.JSON
	}
	return humanize.JSON(out)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (s *Sealed) UnmarshalJSON(b []byte) error {
	var in sealedJSON
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	*s = Sealed{API: in.API, Model: in.Model, JSON: in.Base64}
	if in.JSON != nil {
		s.JSON = json.RawMessage(*in.JSON)
	}
	return nil
}

// MarshalJSON writes the call. Arguments that are not JSON are written as a string, so that the transcript stays valid.
func (c Call) MarshalJSON() ([]byte, error) {
	out := callJSON{ID: c.ID, Name: c.Name, By: c.By}
	switch {
	case len(c.Args) == 0:
	case json.Valid(c.Args):
		out.Args = c.Args
	default:
		said := string(c.Args)
		out.Said = &said
	}
	return humanize.JSON(out)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (c *Call) UnmarshalJSON(b []byte) error {
	var in callJSON
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	args := in.Args
	if in.Said != nil {
		args = json.RawMessage(*in.Said)
	}
	*c = Call{tool.Call{ID: in.ID, Name: in.Name, Args: args, By: in.By}}
	return nil
}
