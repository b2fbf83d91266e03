package cli

import (
	"sync"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/tool"
)

// commandTail shows the end of the output of the user's own command while it runs. Its whole output is printed afterwards.
type commandTail struct {
	show func(agent.Event)

	mu    sync.Mutex
	ended bool
}

// observe takes an event of the command. The one that ends it is left out: it would be printed as a call of the model.
func (t *commandTail) observe(e tool.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.ended && (e.Stage == tool.Running || e.Stage == tool.Showing) {
		t.show(agent.Step{Event: e})
	}
}

// end drops events that arrive late.
func (t *commandTail) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
}
