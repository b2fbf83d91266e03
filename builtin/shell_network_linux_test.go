package builtin

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/adze-dev/adze/tool"
)

// allNames resolves every name to an address.
type allNames netip.Addr

func (n allNames) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.Addr(n)}, nil
}

// The first connection of a tried command to a host waits for the user's answer; without a user it fails, and names the
// rule. A rule for a name doesn't open a private address.
func TestNetworkQuestion(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "hello %s", r.URL.Path)
	}))
	defer server.Close()
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	host := "registry.example.com:" + port
	get := `get() { exec 3<>/dev/tcp/127.0.0.1/${HTTP_PROXY##*:}; printf 'GET http://` + host + `/%s HTTP/1.0\r\n\r\n' $1 >&3; tail -1 <&3; }; `
	for _, tt := range []struct {
		name      string
		answer    *tool.Decision
		closed    bool // no rule names the address
		want, not string
	}{
		{"yes", &tool.Decision{Verdict: tool.Allow}, false, "Output: hello /a\nhello /b", "No connection"},
		{"no", &tool.Decision{Verdict: tool.Deny}, false, "No connection to " + host + ": denied by the user.", "hello"},
		{"no user", nil, false, "it requires approval. The rule Network(" + host + ") would allow it.", "hello"},
		{"private", &tool.Decision{Verdict: tool.Allow}, true, "the address 127.0.0.1 is loopback, and no rule names it.", "hello"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newLate(t, true, tt.answer, t.TempDir(), func(o *Options) {
				o.Sandbox.Network = &Network{
					Resolver: allNames(netip.MustParseAddr("127.0.0.1")),
					Rule:     func(netip.AddrPort) (tool.Verdict, tool.Rule, bool) { return tool.Allow, tool.Rule{}, !tt.closed },
				}
			})
			policy := w.exec.Policy
			w.exec.Policy = func(r tool.Request) tool.Decision {
				if r.Access[0].Verb == tool.Reaches {
					return tool.Decision{Verdict: tool.Ask}
				}
				return policy(r)
			}
			batch := w.exec.Batch(t.Context())
			batch.Add(tool.Call{Name: "run_shell_command", Args: rework(runShellCommandArgs{Command: get + "get a; echo; get b", Timeout: 600_000})})
			o := batch.Wait()[0]
			text := o.Result.Text()
			if !strings.Contains(text, tt.want) || strings.Contains(strings.ReplaceAll(text, get, ""), tt.not) {
				t.Errorf("%v\n%s", o.Error, text)
			}
			if tt.answer != nil && (len(w.asked) != 1 || w.asked[0].Access[0].Target != host || !strings.HasSuffix(w.asked[0].Description, "wants "+host)) {
				t.Errorf("asked %+v", w.asked)
			}
			if h := o.Result.Hosts; len(h) != 1 || h[0].Name != host || (h[0].Received > 0) != (tt.name == "yes") {
				t.Errorf("hosts %+v", h)
			}
			// A denial used to be told to the model only.
			if got := slices.Contains(o.Result.Missed, "no network: "+host); got != (tt.name != "yes") {
				t.Errorf("missed %q", o.Result.Missed)
			}
			if _, err := os.Stat(w.dir); err != nil {
				t.Error(err)
			}
		})
	}
}
