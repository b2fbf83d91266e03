package tool

import (
	"encoding/json"
	"fmt"
	"time"
)

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
}

// Failure is why a call did not succeed.
type Failure struct {
	Type    ErrorType `json:"type"`
	Message string    `json:"message"` // for users
	Model   string    `json:"-"`       // for the model; "": Message
}

// ForModel is the text for the model.
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
		display, err = marshal(o.Error.Message)
	}
	if err != nil {
		return nil, err
	}
	return marshal(struct {
		ID      json.RawMessage `json:"id"`
		Name    string          `json:"name"`
		Status  Status          `json:"status"`
		Content json.RawMessage `json:"llmContent"`
		Display json.RawMessage `json:"returnDisplay"`
		Error   *Failure        `json:"error,omitempty"`
	}{id, o.Name, o.Status, content, display, o.Error})
}

// MarshalJSON writes the documented format.
func (o Outcome) MarshalJSON() ([]byte, error) {
	id, err := marshal(o.Call.ID)
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

// errored is the outcome of an error.
func errored(err error) Outcome {
	t := typeOf(err)
	if t == ExecutionDenied {
		return deniedBy(err)
	}
	return failed(StatusError, t, "%s", err.Error())
}
