package command

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/engine/lsp"
	"github.com/adze-dev/adze/internal/engine/proc"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
)

// Language servers run as commands without approval do: they read the workspace without its hidden files, write to
// their own directory, and have no network.

// languageServer is a language server that runs.
type languageServer struct {
	io.Reader
	io.Writer
	ends    []*os.File
	process *proc.Process
	held    *held // nil: it isn't sandboxed
}

// serverProcesses is the maximum number of processes of a server. Its memory is limited as that of trials.
const serverProcesses = 256

// errNoSandbox means that a server would run without a sandbox.
var errNoSandbox = errors.New("it can't be sandboxed here. The user can allow it without a sandbox with " +
	"lsp.unsandboxed")

// StartServer starts a language server. If it can't be sandboxed, it only starts if withoutSandbox is set.
func (s *Shell) StartServer(server lsp.Server, withoutSandbox bool) (_ lsp.Process, err error) {
	b := s.sandboxes
	c := proc.Command{
		Argv: append([]string{server.Program}, server.Command[1:]...), Dir: s.ws.Project(), Head: 1, Tail: 4 << 10,
	}
	out := &languageServer{}
	switch l := b.limiter; {
	case l != nil && l.start() == nil:
		if c.Sandbox, out.held, err = l.supervised(b, nil, sandbox.Replaced); err != nil {
			return nil, err
		}
		c.Sandbox.Bubblewrap = l.bubblewrap
		if filepath.IsAbs(server.Command[0]) { // the user's settings name a program that needn't be in PATH
			around := l.around
			around.Env = append([]string{"PATH=" + filepath.Dir(server.Program)}, l.unapproved().short...)
			c.Sandbox.Limits.Execute = append(slices.Clip(c.Sandbox.Limits.Execute), around.Limits().Execute...)
		}
		if limits := c.Sandbox.Trial; limits != nil {
			limits.Processes, limits.CPU = serverProcesses, 0
		}
		c.Env = append(l.supervisedEnviron(b, out.held), "GOPROXY=off", "GOTOOLCHAIN=local", "GOTELEMETRY=off")
	case withoutSandbox:
		c.Env = b.unapproved().tried
	default:
		return nil, errNoSandbox
	}
	in, toServer, err := os.Pipe()
	fromServer, stdout, failed := os.Pipe()
	if err = errors.Join(err, failed); err == nil {
		c.Talk = &[2]*os.File{in, stdout}
		out.Reader, out.Writer, out.ends = fromServer, toServer, []*os.File{toServer, fromServer}
		out.process, err = s.runner.Start(context.Background(), c)
	}
	if err != nil {
		for _, f := range []*os.File{in, toServer, fromServer, stdout} {
			f.Close()
		}
		out.held.done(true)
		return nil, err
	}
	return out, nil
}

// Log implements lsp.Process.
func (p *languageServer) Log() string {
	return strings.TrimSpace(p.process.Read(-2<<10, 2<<10).Text)
}

// Outdated implements lsp.Process: a file that may be secret and appeared isn't hidden from the server.
func (p *languageServer) Outdated() bool {
	late, err := p.held.appeared()
	return err != nil || len(late) > 0
}

// Stop implements lsp.Process.
func (p *languageServer) Stop() {
	for _, f := range p.ends {
		f.Close()
	}
	p.process.Stop()
	<-p.process.Done()
	p.held.done(p.process.Wait().Leftover == 0)
}
