package discover

import (
	"context"
	"testing"
)

// A server lists other tools to a client that offers its model, so that client has a cached manifest of its own. Until
// there is one, the other will do, and the server is started without anybody waiting for it.
func TestManifestsWithAndWithoutAModel(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	ready(t, "plain", Options{State: state}).Close()
	with := Options{State: state, Sample: func(context.Context, Sampling) (Sampled, error) { return Sampled{}, nil }}
	d := open(t, map[string]Server{"fake": self(t, "plain")}, with)
	if len(d.declared()) == 0 {
		t.Error("nothing is known at first")
	}
	if err := d.Wait(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := d.links["fake"].acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.Servers.Close()
	for name, opt := range map[string]Options{"with a model": with, "without": {State: state}} {
		d := open(t, map[string]Server{"fake": self(t, "plain")}, opt)
		if st := d.List()[0]; st.State != Cached || len(st.Tools) == 0 {
			t.Errorf("%s: %s with %d tools", name, st.State, len(st.Tools))
		}
	}
}
