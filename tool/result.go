package tool

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/adze-dev/adze/internal/engine/humanize"
)

// Result is the result of a call: Content for the model, Display for users.
type Result struct {
	Content []Part  // llmContent
	Display Display // returnDisplay; nil: the text of the failure, or of the content
	// Compare stands for the content where results of the same call are compared: without durations, random names and
	// other parts that always differ. It isn't sent anywhere. "": the content's text
	Compare string
	// Output is what a command printed, without what the content says about it. It isn't sent anywhere.
	Output string
	// Exit is the exit code of a command, also of one that didn't fail, such as grep without a match. It isn't sent
	// anywhere.
	Exit int
	// Missed is what a command wanted and didn't get where it was tried: "no network: example.com". It isn't sent
	// anywhere.
	Missed []string
	// Hosts are the hosts that a command connected to, or wanted to, through a proxy.
	Hosts []Host
}

// Host is a host that a command connected to.
type Host struct {
	Name     string `json:"name"` // with its port, unless that is 443 or 80
	Sent     int64  `json:"sent"` // bytes
	Received int64  `json:"received"`
	Failure  string `json:"failure,omitempty"` // why a connection was denied or failed
}

// Part is a piece of content: a [Text] or a [Media].
type Part interface{ part() }

// Text is text for the model.
type Text string

// Media is an image, a sound or a document. Models that can't read it get a note instead.
type Media struct {
	MIMEType string
	Data     []byte
}

func (Text) part()  {}
func (Media) part() {}

// TextResult returns a result with one text, for the model and for users.
func TextResult(s string) Result {
	return Result{Content: []Part{Text(s)}}
}

// Text returns all text of the content, with a short note in place of each media part.
func (r Result) Text() string {
	if len(r.Content) == 1 {
		if t, ok := r.Content[0].(Text); ok {
			return string(t)
		}
	}
	var b strings.Builder
	for i, p := range r.Content {
		if i > 0 {
			b.WriteByte('\n')
		}
		switch p := p.(type) {
		case Text:
			b.WriteString(string(p))
		case Media:
			fmt.Fprintf(&b, "[%s, %d bytes]", p.MIMEType, len(p.Data))
		}
	}
	return b.String()
}

type resultJSON struct {
	LLMContent    json.RawMessage `json:"llmContent"`
	ReturnDisplay json.RawMessage `json:"returnDisplay,omitempty"`
}

// MarshalJSON writes the result with the documented names: a single text is a string, everything else an array of
// strings and Part objects.
func (r Result) MarshalJSON() ([]byte, error) {
	content, err := marshalParts(r.Content)
	if err != nil {
		return nil, err
	}
	out := resultJSON{LLMContent: content}
	if r.Display != nil {
		if out.ReturnDisplay, err = MarshalDisplay(r.Display); err != nil {
			return nil, err
		}
	}
	return humanize.JSON(out)
}

// UnmarshalJSON reads what MarshalJSON wrote. A display of unknown type is kept as [Opaque].
func (r *Result) UnmarshalJSON(b []byte) error {
	var in resultJSON
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	parts, err := unmarshalParts(in.LLMContent)
	if err != nil {
		return err
	}
	display, err := UnmarshalDisplay(in.ReturnDisplay)
	if err != nil {
		return err
	}
	*r = Result{Content: parts, Display: display}
	return nil
}

type mediaJSON struct {
	InlineData inlineJSON `json:"inlineData"`
}

type inlineJSON struct {
	MIMEType string `json:"mimeType"`
	Data     string `json:"data"`
}

func marshalParts(parts []Part) (json.RawMessage, error) {
	if len(parts) == 0 {
		return json.RawMessage(`""`), nil
	}
	if t, ok := parts[0].(Text); ok && len(parts) == 1 {
		return humanize.JSON(string(t))
	}
	items := make([]any, 0, len(parts))
	for _, p := range parts {
		switch p := p.(type) {
		case Text:
			items = append(items, string(p))
		case Media:
			items = append(items, mediaJSON{inlineJSON{p.MIMEType, base64.StdEncoding.EncodeToString(p.Data)}})
		}
	}
	return humanize.JSON(items)
}

func unmarshalParts(b json.RawMessage) ([]Part, error) {
	b = bytes.TrimSpace(b)
	if len(b) == 0 || string(b) == "null" || string(b) == `""` {
		return nil, nil
	}
	items := []json.RawMessage{b}
	if b[0] == '[' {
		items = nil
		if err := json.Unmarshal(b, &items); err != nil {
			return nil, err
		}
	}
	var parts []Part
	for _, item := range items {
		p, err := unmarshalPart(item)
		if err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	return parts, nil
}

func unmarshalPart(b json.RawMessage) (Part, error) {
	var s string
	if json.Unmarshal(b, &s) == nil {
		return Text(s), nil
	}
	var p struct {
		mediaJSON
		Text *string `json:"text"`
	}
	if err := json.Unmarshal(b, &p); err != nil {
		return nil, fmt.Errorf("read a content part: %w", err)
	}
	if p.Text != nil {
		return Text(*p.Text), nil
	}
	data, err := base64.StdEncoding.DecodeString(p.InlineData.Data)
	if err != nil {
		return nil, fmt.Errorf("read a content part of type %s: %w", p.InlineData.MIMEType, err)
	}
	return Media{p.InlineData.MIMEType, data}, nil
}

// Status is how a call ended.
type Status string

// The statuses, by their documented names.
const (
	StatusSuccess   Status = "success"
	StatusError     Status = "error"
	StatusDenied    Status = "denied"
	StatusCancelled Status = "cancelled"
)

// Outcome is the end of a call. Every call has one.
type Outcome struct {
	Call     Call          // as it ran: the user or a hook may have edited the arguments
	Name     string        // the tool's canonical name; the called name if the tool is unknown
	Status   Status        //
	Result   Result        // Content is never empty: at least the text of the failure
	Error    *Failure      // nil on success
	Duration time.Duration // of Run, and of the Trial before it
	Saved    []string      // paths of the full texts, if the result's were truncated
	Changes  Changes       // files that it changed, if the program that runs the executor compares them
}

// Failure is why a call did not succeed.
type Failure struct {
	Type    ErrorType `json:"type"`
	Message string    `json:"message"` // for users
	Model   string    `json:"-"`       // for the model; "": Message
}

// ForModel returns the text for the model.
func (f *Failure) ForModel() string {
	if f.Model != "" {
		return f.Model
	}
	return f.Message
}

// JSON returns the outcome in the documented format, with the caller's ID.
func (o Outcome) JSON(id json.RawMessage) ([]byte, error) {
	content, err := marshalParts(o.Result.Content)
	if err != nil {
		return nil, err
	}
	display := json.RawMessage(`""`)
	switch {
	case o.Result.Display != nil:
		display, err = MarshalDisplay(o.Result.Display)
	case o.Error != nil:
		display, err = humanize.JSON(o.Error.Message)
	}
	if err != nil {
		return nil, err
	}
	return humanize.JSON(struct {
		ID      json.RawMessage `json:"id"`
		Name    string          `json:"name"`
		Status  Status          `json:"status"`
		Content json.RawMessage `json:"llmContent"`
		Display json.RawMessage `json:"returnDisplay"`
		Error   *Failure        `json:"error,omitempty"`
		Changes *Changes        `json:"changes,omitempty"`
	}{id, o.Name, o.Status, content, display, o.Error, o.Changes.Reported()})
}

// MarshalJSON writes the documented format.
func (o Outcome) MarshalJSON() ([]byte, error) {
	id, err := humanize.JSON(o.Call.ID)
	if err != nil {
		return nil, err
	}
	return o.JSON(id)
}

func failed(s Status, t ErrorType, format string, args ...any) Outcome {
	message := fmt.Sprintf(format, args...)
	return Outcome{
		Status: s,
		Error:  &Failure{Type: t, Message: message},
		Result: TextResult(message),
	}
}

func cancelled(format string, args ...any) Outcome {
	return failed(StatusCancelled, Cancelled, format, args...)
}

// errored returns the outcome of an error.
func errored(err error) Outcome {
	t := typeOf(err)
	if t == ExecutionDenied {
		return deniedBy(err)
	}
	return failed(StatusError, t, "%s", err.Error())
}
