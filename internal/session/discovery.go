package session

import (
	"context"
	"strings"
	"time"

	"github.com/adze-dev/adze/discover"
	"github.com/adze-dev/adze/tool"
)

// discovery is a run of the command that lists a project's own tools.
type discovery struct {
	ended <-chan struct{}
	said  []string // by then
	stop  context.CancelFunc
}

// discover runs the discovery command beside everything else.
func (o *Outside) discover() *discovery {
	c := discover.Command{
		Discover: o.settings.Tools.DiscoveryCommand, Call: o.settings.Tools.CallCommand, Dir: o.folder.Path, Env: o.env.Environ,
		Timeout: time.Duration(o.settings.Tools.CallTimeout) * time.Millisecond,
	}
	life, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	d := &discovery{ended: ended, stop: stop}
	go func() {
		defer close(ended)
		d.run(life, c, o.executor.Registry)
	}()
	return d
}

func (d *discovery) run(ctx context.Context, c discover.Command, registry *tool.Registry) {
	tools, err := c.Tools(ctx)
	for _, warning := range tools.Warnings {
		d.said = append(d.said, "tools of "+c.Discover+": "+warning)
	}
	if err != nil {
		d.said = append(d.said, err.Error())
	}
	if err := registry.Set(discover.CommandOrigin, tools.Tools); err != nil {
		d.said = append(d.said, strings.Split(err.Error(), "\n")...)
	}
}

// wait waits until the command has ended, and gives what went wrong.
func (d *discovery) wait(ctx context.Context) []string {
	select {
	case <-d.ended:
		return d.said
	case <-ctx.Done():
		return []string{"tool discovery command still running; continuing without its tools"}
	}
}

func (d *discovery) close() {
	d.stop()
	<-d.ended
}

// Discovered says what came of the discovery command: whether it has ended, and what it complained of. It is false where
// none was run.
func (o *Outside) Discovered() (ended bool, said []string, ok bool) {
	if o.command == nil {
		return false, nil, false
	}
	select {
	case <-o.command.ended:
		return true, o.command.said, true
	default:
		return false, nil, true
	}
}
