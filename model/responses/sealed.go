package responses

import (
	"encoding/json"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/api"
)

// Sealed data has one of two forms. Reasoning is the item as it goes back. A message's phase, which newer models want back,
// is {"type":"message","phase":…}; it belongs to the text before it.

func sealedType(s model.Sealed) string {
	var v struct{ Type string }
	_ = json.Unmarshal(s.JSON, &v) // only this package makes it
	return v.Type
}

func sealedPhase(s model.Sealed) string {
	var v struct{ Phase string }
	_ = json.Unmarshal(s.JSON, &v)
	return v.Phase
}

// sealPhase seals the phase of a message; false if it has none.
func (a *answer) sealPhase(phase string) (model.Sealed, bool) {
	raw, err := api.Marshal(struct {
		Type  string `json:"type"`
		Phase string `json:"phase"`
	}{typeMessage, phase})
	return model.Sealed{API: Name, Model: a.name, JSON: raw}, err == nil && phase != ""
}

// sealReasoning seals an item of reasoning; false if there is nothing in it that the server could use. The item's ID is left
// out, because the server looks for an item with an ID among those it stored; so are its status and all nulls, which the
// server rejects. Other members are kept byte for byte.
func (a *answer) sealReasoning(raw json.RawMessage) (model.Sealed, bool) {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return model.Sealed{}, false
	}
	delete(members, "id")
	delete(members, "status")
	for name, value := range members {
		if api.IsNull(value) {
			delete(members, name)
		}
	}
	if empty(members["encrypted_content"]) && empty(members["content"]) {
		return model.Sealed{}, false
	}
	if _, ok := members["summary"]; !ok {
		members["summary"] = json.RawMessage("[]") // the server requires it
	}
	out, err := api.Marshal(members)
	return model.Sealed{API: Name, Model: a.name, JSON: out}, err == nil
}

func empty(raw json.RawMessage) bool {
	switch string(raw) {
	case "", "null", `""`, "[]":
		return true
	}
	return false
}
