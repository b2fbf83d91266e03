package peers

import (
	"os"
	"os/exec"
	"testing"

	"github.com/adze-dev/adze/discover"
	"github.com/adze-dev/adze/internal/dev/waittest"
)

// everythingOn starts the everything server on a port; the returned function ends it.
func everythingOn(t *testing.T, transport, port string) (stop func()) {
	t.Helper()
	cmd := exec.Command(node(t), module(t, "server-everything/dist/index.js"), transport)
	cmd.Env = append(os.Environ(), "PORT="+port)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	stop = func() {
		if !ended {
			ended = true
			cmd.Process.Kill()
			cmd.Wait()
		}
	}
	t.Cleanup(stop)
	awaitListener(t, "127.0.0.1:"+port)
	return stop
}

// A restarted server does not know our session: Adze begins a new one, and makes the call.
func TestNetworkServerRestarts(t *testing.T) {
	for transport, conf := range map[string]func(base string) discover.Server{
		"streamableHttp": func(base string) discover.Server { return discover.Server{HTTPURL: base + "/mcp"} },
		"sse":            func(base string) discover.Server { return discover.Server{URL: base + "/sse"} },
	} {
		t.Run(transport, func(t *testing.T) {
			port := freePort(t)
			stop := everythingOn(t, transport, port)
			d := open(t, map[string]discover.Server{"ev": conf("http://127.0.0.1:" + port)}, discover.Options{}, nil)
			d.want(t, "ev__echo", `{"message":"first"}`, "first")
			stop()
			if o := d.call(t.Context(), "ev__echo", `{"message":"nobody"}`); o.Error == nil {
				t.Errorf("%+v", o)
			} else {
				t.Log(o.Error.Message)
			}
			stop = everythingOn(t, transport, port)
			waittest.Until(t, "a call is answered again", func() bool {
				o := d.call(t.Context(), "ev__echo", `{"message":"again"}`)
				if o.Error != nil {
					t.Log(o.Error.Message)
				}
				return o.Error == nil
			})
			stop()
			everythingOn(t, transport, port)
			d.want(t, "ev__get-sum", `{"a":1,"b":2}`, "3") // as if nothing had been
		})
	}
}
