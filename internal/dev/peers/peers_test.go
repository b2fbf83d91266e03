package peers

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/adze-dev/adze/discover"
	"github.com/adze-dev/adze/internal/dev/leaktest"
	"github.com/adze-dev/adze/internal/dev/waittest"
	"github.com/adze-dev/adze/tool"
)

// This test binary is also the client and the server that the conformance suite and the inspector talk to.
func TestMain(m *testing.M) {
	switch os.Getenv("ADZE_PEER") {
	case "client":
		exit(conformanceClient(os.Args[len(os.Args)-1]))
	case "server":
		exit(fixtureServer())
	}
	if len(os.Args) == 4 && os.Args[1] == goplsTimer {
		exit(timeServer(os.Args[2], os.Args[3]))
	}
	dir, err := os.MkdirTemp("", "adze-peers-")
	if err == nil {
		err = os.Setenv(ownDirectory, dir)
	}
	if err != nil {
		exit(err)
	}
	// The reader of the user's input runs as long as the program.
	reader := goleak.IgnoreTopFunction("github.com/adze-dev/adze/internal/app/tty.NewLines.func1")
	code := leaktest.Run(m, reader)
	os.RemoveAll(dir)
	os.Exit(code)
}

// ownDirectory names the directory for what all tests share.
const ownDirectory = "ADZE_PEERS_FOLDER"

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// node is Node 22, if the packages are installed and it is they that are to be tried: make test leaves them to make
// test-peers.
func node(t *testing.T) string {
	t.Helper()
	if os.Getenv("ADZE_PEERS") == "" {
		t.Skip("real peers are tried by make test-peers")
	}
	path, err := filepath.Abs("node_modules/node/bin/node")
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		t.Skip("the npm packages are not installed: run npm ci in internal/dev/peers (make test-peers)")
	}
	return path
}

// module returns a file of an npm package.
func module(t *testing.T, path string) string {
	t.Helper()
	abs, err := filepath.Abs(filepath.Join("node_modules/@modelcontextprotocol", path))
	if err != nil {
		t.Fatal(err)
	}
	return abs
}

func npmServer(t *testing.T, name string, args ...string) discover.Server {
	return discover.Server{Command: node(t), Args: append([]string{module(t, "server-"+name+"/dist/index.js")}, args...)}
}

// listening starts the everything server on a free port and waits for it.
func listening(t *testing.T, transport string) (base string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	_, port, _ := net.SplitHostPort(address)
	cmd := exec.Command(node(t), module(t, "server-everything/dist/index.js"), transport)
	cmd.Env = append(os.Environ(), "PORT="+port)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		for scan := bufio.NewScanner(stderr); scan.Scan(); {
		}
	}()
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	awaitListener(t, "127.0.0.1:"+port)
	return "http://127.0.0.1:" + port
}

// awaitListener waits until a server listens on an address.
func awaitListener(t *testing.T, address string) {
	t.Helper()
	waittest.Until(t, "a server listens on "+address, func() bool {
		c, err := net.Dial("tcp", address)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
}

// desk is a session with servers and a user who answers.
type desk struct {
	*discover.Servers
	registry *tool.Registry
	x        *tool.Executor
}

func open(t *testing.T, servers map[string]discover.Server, opt discover.Options, ask tool.Asker) *desk {
	t.Helper()
	d := &desk{registry: tool.NewRegistry()}
	opt.Registry = d.registry
	opt.Start = 5 * time.Minute // Node is slow to start on a busy machine
	d.Servers = discover.Open(servers, opt)
	t.Cleanup(d.Close)
	d.x = &tool.Executor{Registry: d.registry, Ask: ask, Budget: -1, Policy: func(r tool.Request) tool.Decision {
		if r.MustAsk {
			return tool.Decision{Verdict: tool.Ask}
		}
		return tool.Decision{Verdict: tool.Allow}
	}}
	if err := d.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *desk) call(ctx context.Context, name, args string) tool.Outcome {
	b := d.x.Batch(ctx)
	b.Add(tool.Call{Name: name, Args: json.RawMessage(args)})
	return b.Wait()[0]
}

// want calls a tool that must succeed with a text.
func (d *desk) want(t *testing.T, name, args, text string) tool.Outcome {
	t.Helper()
	o := d.call(t.Context(), name, args)
	if o.Status != tool.StatusSuccess || !strings.Contains(o.Result.Text(), text) {
		t.Errorf("%s %s: %s, %.500s\nwant %q", name, args, o.Status, o.Result.Text(), text)
	}
	return o
}
