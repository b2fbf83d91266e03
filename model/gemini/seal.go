package gemini

import (
	"encoding/json"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/api"
)

// seal is the content of sealed data. It belongs to the text or the call before it, or has its own part. An empty one
// after a call means that the call came from this model, and one between two texts keeps them separate.
type seal struct {
	ID        string          `json:"id,omitempty"` // of the call, as the server sent it
	Signature json.RawMessage `json:"thoughtSignature,omitempty"`
	Part      json.RawMessage `json:"part,omitempty"` // as received; it is sent back unchanged
}

func (s seal) sealed(name string) (model.Sealed, error) {
	data, err := api.Marshal(s)
	return model.Sealed{API: Name, Model: name, JSON: data}, err
}

// skipValidation is a signature for calls that this model didn't make. The server doesn't check it.
var skipValidation = json.RawMessage(`"skip_thought_signature_validator"`)

// signed reports whether a value is a signature.
func signed(raw json.RawMessage) bool { return !api.IsNull(raw) && string(raw) != `""` }
