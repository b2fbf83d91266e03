package proc

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
)

// A command with a network of its own connects to a socket that this program serves, and to nothing else. The socket
// closes with its processes.
func TestProxyOfACommand(t *testing.T) {
	r := Open(Options{Helper: helper})
	defer r.Close()
	outside, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer outside.Close()
	over := make(chan struct{})
	var served net.Addr
	_, port, _ := net.SplitHostPort(outside.Addr().String())
	dir := t.TempDir()
	o, err := r.Run(t.Context(), Command{
		Line: `to=${HTTP_PROXY#http://}; exec 3<>/dev/tcp/127.0.0.1/${to#*:} && echo hello >&3 && cat <&3
env | grep -i proxy | sort; ! (exec 4<>/dev/tcp/127.0.0.1/` + port + `) 2>/dev/null && echo closed`,
		Dir: dir, Env: append(Environ([]string{"PATH=/usr/bin:/bin"}, nil), "HTTPS_PROXY=http://user.example.com", "no_proxy=*"),
		Sandbox: &sandbox.Spec{Mode: sandbox.Workspace, Roots: []string{dir}},
		Proxy: func(l net.Listener) {
			served = l.Addr()
			go func() {
				defer close(over)
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					b := make([]byte, 6)
					io.ReadFull(c, b)
					fmt.Fprintf(c, "got %s", b)
					c.Close()
				}
			}()
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if served == nil {
		t.Skipf("no network namespace here: %v", o.Notes)
	}
	url := "http://" + served.String()
	want := []string{"got hello", "ALL_PROXY=" + url, "HTTPS_PROXY=" + url, "HTTP_PROXY=" + url,
		"NODE_USE_ENV_PROXY=1", "NO_PROXY=localhost,127.0.0.1,::1", "all_proxy=" + url, "http_proxy=" + url,
		"https_proxy=" + url, "no_proxy=localhost,127.0.0.1,::1", "closed"}
	got := strings.TrimSpace(o.Output.String())
	for _, line := range want {
		if !strings.Contains("\n"+got+"\n", "\n"+line+"\n") {
			t.Errorf("no %q in\n%s", line, got)
		}
	}
	if strings.Contains(got, "user.example.com") {
		t.Error("the command got the user's own proxy")
	}
	<-over
}

// The time of a question doesn't count.
func TestHeldTimeDoesNotCount(t *testing.T) {
	r := Open(Options{Helper: helper})
	defer r.Close()
	o, err := r.Run(t.Context(), Command{
		Line: "sleep 0.3; echo done", Timeout: 50 * time.Millisecond, Held: func() time.Duration { return time.Hour },
	})
	if err != nil || o.Ended != Exited || o.Output.Head != "done\n" {
		t.Errorf("%v %+v", err, o)
	}
}
