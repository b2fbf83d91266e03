package discover

import (
	"context"
	"fmt"
	"testing"

	"github.com/adze-dev/adze/tool"
)

// One call over stdio, through registry, validation and policy. The goal is under 0.6 ms.
func BenchmarkStdioCall(b *testing.B) {
	d := ready(b, "plain", Options{})
	for b.Loop() {
		if o := d.call(context.Background(), "fake__echo", `{"text":"hello"}`); o.Status != tool.StatusSuccess {
			b.Fatal(o.Error)
		}
	}
}

// A start with five servers whose manifests are cached. The goal is at most 5 ms more than with none.
func BenchmarkOpenFiveCached(b *testing.B) {
	state := b.TempDir()
	servers := map[string]Server{}
	for i := range 5 {
		servers[fmt.Sprintf("server%d", i)] = self(b, "plain")
	}
	d := open(b, servers, Options{State: state})
	if err := d.Wait(context.Background()); err != nil {
		b.Fatal(err)
	}
	d.Servers.Close()
	for b.Loop() {
		s := Open(servers, Options{State: state, Registry: tool.NewRegistry()})
		if s.List()[0].State != Cached {
			b.Fatal("it was not cached")
		}
		s.Close()
	}
}
