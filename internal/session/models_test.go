package session

import (
	"testing"

	"github.com/adze-dev/adze/discover"
	"github.com/adze-dev/adze/tool"
)

// A session that lets servers ask its model, and never opened one, answered them with a nil pointer. The command line
// opens it before any call; another front end may not.
func TestSamplingBeforeThereIsAModel(t *testing.T) {
	question := discover.Sampling{Messages: []discover.SamplingMessage{{Role: "user", Content: tool.Text("hello")}}}
	_, err := (&Models{}).sample(t.Context(), question)
	if err == nil || err.Error() != "no model in this session" {
		t.Errorf("got %v", err)
	}
}
