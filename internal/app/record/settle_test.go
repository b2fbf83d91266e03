package record

import (
	"strings"
	"testing"

	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// A call that was being tried when the session ended did not run, and the response says so.
func TestSettledTriedCall(t *testing.T) {
	c := journal.Call{Call: model.Call{Call: tool.Call{ID: "1", Name: "run_shell_command"}}, Tried: &journal.Tried{ID: "1"}}
	if text := settled(c, false).Content[0].(tool.Text); !strings.Contains(string(text), "not executed") || !strings.Contains(string(text), "Nothing was changed") {
		t.Errorf("tried: %s", text)
	}
	if text := settled(c, true).Content[0].(tool.Text); !strings.Contains(string(text), "effect is unknown") {
		t.Errorf("that it ran may not have been recorded: %s", text)
	}
	c.Started = &journal.Started{ID: "1"}
	if text := settled(c, false).Content[0].(tool.Text); !strings.Contains(string(text), "effect is unknown") {
		t.Errorf("its effects were being kept: %s", text)
	}
}
