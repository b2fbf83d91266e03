package sandbox

import (
	"bytes"
	"strings"
	"testing"
)

// query returns a question for the address of a name, with an additional record.
func query(name string) []byte {
	b := []byte{0x12, 0x34, 0x01, 0x00, 0, 1, 0, 0, 0, 0, 0, 1}
	for label := range strings.SplitSeq(name, ".") {
		b = append(append(b, byte(len(label))), label...)
	}
	return append(b, 0, 0, 1, 0, 1, 0, 0, 41, 4, 0, 0, 0, 0, 0, 0, 0)
}

func TestNoSuchName(t *testing.T) {
	q := query("Build.Adze.dev")
	reply, name, ok := noSuchName(q)
	if !ok || name != "build.adze.dev" || len(reply) != len(q)-11 || !bytes.Equal(reply[:2], q[:2]) || reply[2]&0x80 == 0 || reply[3]&0xf != 3 || reply[11] != 0 || !bytes.Equal(reply[12:], q[12:len(q)-11]) {
		t.Errorf("%x %q %v", reply, name, ok)
	}
	if _, name, ok := noSuchName(query("a\x1b[31m.dev")); !ok || strings.ContainsRune(name, 0x1b) {
		t.Errorf("%q %v", name, ok)
	}
	reply[2] |= 0x80
	for _, bad := range [][]byte{nil, q[:11], q[:20], reply, append(bytes.Clone(q[:12]), 0xc0, 0x0c, 0, 1, 0, 1)} {
		if _, _, ok := noSuchName(bad); ok {
			t.Errorf("%x has an answer", bad)
		}
	}
}

func FuzzNoSuchName(f *testing.F) {
	f.Add(query("example.com"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if reply, _, ok := noSuchName(b); ok && len(reply) > len(b) {
			t.Errorf("%x: %x", b, reply)
		}
	})
}

func TestReservedNames(t *testing.T) {
	for name, want := range map[string]bool{
		"": true, "localhost": true, "x.localhost": true, "db.test": true, "nothing.invalid": true, "printer.local": true, "1.0.0.127.in-addr.arpa": true,
		"build.adze.dev": false, "mylocalhost": false, "test.dev": false, "contest": false,
	} {
		if reserved(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}

func TestNameservers(t *testing.T) {
	for text, want := range map[string]string{
		"":                           "[127.0.0.1]",
		"search x\n":                 "[127.0.0.1]",
		"nameserver 10.0.0.2\n":      "[10.0.0.2]",
		"nameserver\nnameserver x\n": "[127.0.0.1]",
		"nameserver 127.0.0.53\noptions x\nnameserver fd00::1\nnameserver 127.0.0.53": "[127.0.0.53 fd00::1]",
		"nameserver fe80::1%eth0\n": "[fe80::1]",
	} {
		var got []string
		for _, a := range nameservers(text) {
			got = append(got, a.String())
		}
		if s := "[" + strings.Join(got, " ") + "]"; s != want {
			t.Errorf("%q: %s", text, s)
		}
	}
}

func TestNoRoutes(t *testing.T) {
	const text = "Ip: Forwarding OutDiscards OutNoRoutes ReasmTimeout\nIp: 2 0 7 0\nIcmp: InMsgs\nIcmp: 0\n"
	if n := noRoutes(text, false); n != 7 {
		t.Error(n)
	}
	if n := noRoutes("Ip6InReceives \t0\nIp6OutNoRoutes                  \t3\n", true); n != 3 {
		t.Error(n)
	}
	if noRoutes("", false) != 0 || noRoutes("Ip: OutNoRoutes\nIp:\n", false) != 0 {
		t.Error("no counter")
	}
}

func TestUnfit(t *testing.T) {
	for text, want := range map[string]bool{
		"mv: cannot move 'a' to 'b': Invalid cross-device link": true, "Error: EXDEV: cross-device link not permitted": true,
		"sh: 1: cannot create x: Value too large for defined data type": true, "make: *** [all] Error 1": false,
	} {
		if (Unfit(text) != "") != want {
			t.Errorf("%q: %q", text, Unfit(text))
		}
	}
}

// A trial needs all of the sandbox.
func TestTrialPlan(t *testing.T) {
	whole := Support{LandlockABI: 6, Seccomp: true, Notify: true, Sockets: true, Namespaces: true, PIDs: true}
	spec := &Spec{Mode: Trial, Trial: &Trials{}, Limits: &Limits{}, BestEffort: true}
	if p, err := spec.planWith(whole); err != nil || !p.Trial || !p.Loopback || !p.Limits || !p.PrivateSockets {
		t.Errorf("%+v %v", p, err)
	}
	for _, without := range []Layers{Landlock, Seccomp, Namespaces, PIDs} {
		if _, err := spec.planWith(whole.without(without)); err == nil {
			t.Errorf("without %v there is a trial", without)
		}
	}
	// Bubblewrap makes namespaces where the program may not, and nothing else.
	whole.Launcher = true
	for _, without := range []Layers{Namespaces, PIDs, Namespaces | PIDs} {
		p, err := spec.planWith(whole.without(without))
		if err != nil || !p.Launched || !p.InProcess() || !p.Layers.Has(Namespaces|PIDs) || !p.Limits || !p.PrivateSockets || p.Needs() != Landlock|Seccomp|Notify|Launcher {
			t.Errorf("without %v: %+v %v", without, p, err)
		}
		if _, err := spec.planWith(whole.without(without | Launcher)); err == nil || !strings.Contains(err.Error(), "bubblewrap") {
			t.Errorf("without %v and bubblewrap: %v", without, err)
		}
	}
	if p, err := spec.planWith(whole); err != nil || p.Launched || p.Needs() != p.Layers {
		t.Errorf("%+v %v", p, err)
	}
	for _, without := range []Layers{Landlock, Seccomp} {
		if _, err := spec.planWith(whole.without(without)); err == nil {
			t.Errorf("without %v there is a trial", without)
		}
	}
	if p, err := (&Spec{Mode: Workspace, BestEffort: true}).planWith(whole.without(Namespaces)); err != nil || p.Launched || p.Layers.Has(Namespaces) {
		t.Errorf("another mode: %+v %v", p, err)
	}
	if _, err := (&Spec{Mode: Trial}).planWith(whole); err == nil {
		t.Error("without layers there is a trial")
	}
}
