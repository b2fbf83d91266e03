package humanize

import (
	"bytes"
	"encoding/json"
)

// JSON is json.Marshal without HTML escapes, which make <, > and & unreadable.
func JSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
