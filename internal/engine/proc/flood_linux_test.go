package proc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/adze-dev/adze/internal/dev/serial"
	"github.com/adze-dev/adze/internal/dev/soak"
	"github.com/adze-dev/adze/internal/dev/waittest"
	"github.com/adze-dev/adze/internal/engine/redact"
)

// highWater returns the most memory this process has had, in bytes.
func highWater(t *testing.T) int64 {
	t.Helper()
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	var kb int64
	_, line, _ := strings.Cut(string(b), "VmHWM:")
	if _, err := fmt.Sscan(line, &kb); err != nil {
		t.Fatal(err)
	}
	return kb << 10
}

// resetHighWater resets highWater to the current memory.
func resetHighWater() error { return os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) }

func TestFlood(t *testing.T) {
	serial.Test(t)
	mb := soak.Count(100, 10_000)
	mask := redact.NewMask([]redact.Secret{{Value: "sk-0123456789abcdef"}, {Value: "ghp_ABCDEFGHIJKLMNOP1"}}, nil)
	for _, c := range []struct{ name, line, head, tail string }{
		{"yes", "yes | head -c %dM", "y\n[previous line repeated ", "times]\n"},
		{"lines", "yes 'some 0123456789 line of a log that goes on and on' | head -c %dM", "some 0123456789", "\n"},
		{"zeros", "head -c %dM /dev/zero", "", ""},
		{"one line", "head -c %dM /dev/zero | tr '\\0' x", "xxxx", "xxx\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			mb := mb
			if c.name != "yes" {
				mb = max(8, mb/10)
			}
			r := opened(t, Options{Mask: func() *redact.Mask { return mask }})
			run(t, r, Command{Line: "true"})
			if err := resetHighWater(); err != nil {
				t.Skip("memory cannot be measured here:", err)
			}
			before := highWater(t)
			began := time.Now()
			o := run(t, r, Command{Line: fmt.Sprintf(c.line, mb), Spill: io.Discard, SpillLimit: 1 << 20, Live: func(Progress) {}})
			took := time.Since(began)
			grown := highWater(t) - before
			t.Logf("%d MB in %v, %.0f MB/s, %d KB more memory", mb, took, float64(mb)/took.Seconds(), grown>>10)
			if o.Output.Bytes != int64(mb)<<20 || !strings.HasPrefix(o.Output.Head, c.head) || !strings.HasSuffix(o.Output.Tail, c.tail) || !o.Output.SpillCut {
				t.Errorf("%d bytes, cut %v, begins %.40q, ends %.40q", o.Output.Bytes, o.Output.SpillCut, o.Output.Head, o.Output.Tail[max(0, len(o.Output.Tail)-40):])
			}
			if grown > 8<<20 {
				t.Errorf("%d bytes more memory", grown)
			}
			if n := len(o.Output.String()); n > 34<<10 {
				t.Errorf("the result has %d bytes", n)
			}
		})
	}
}

func TestEndless(t *testing.T) {
	t.Parallel()
	r := opened(t, Options{})
	for _, line := range []string{"yes", "cat /dev/urandom", "while :; do printf '\\r%d' $RANDOM; done", "cat /dev/zero"} {
		began := time.Now()
		o := longer(t, r, Command{Line: line, Timeout: 300 * time.Millisecond}, func(o Outcome) bool { return o.Output.Bytes > 0 })
		t.Logf("%s: %v", line, time.Since(began))
		if o.Ended != TimedOut || o.Output.Bytes == 0 {
			t.Errorf("%s: %+v", line, o)
		}
		if o.Output.Binary != strings.HasPrefix(line, "cat") {
			t.Errorf("%s: binary is %v", line, o.Output.Binary)
		}
	}
}

// full is a disk with room for a number of bytes.
type full struct {
	room int
	got  bytes.Buffer
}

func (f *full) Write(p []byte) (int, error) {
	n := min(len(p), f.room-f.got.Len())
	f.got.Write(p[:n])
	if n < len(p) {
		return n, syscall.ENOSPC
	}
	return n, nil
}

func TestSpill(t *testing.T) {
	r := opened(t, Options{})
	line := "printf 'a\\rb\\n'; head -c 100000 /dev/zero | tr '\\0' x; echo; echo end"
	var all bytes.Buffer
	o := run(t, r, Command{Line: line, Spill: &all})
	if want := "a\rb\n" + strings.Repeat("x", 100000) + "\nend\n"; all.String() != want || o.Output.SpillCut || o.Output.SpillErr != nil {
		t.Errorf("%d bytes spilled, %v", all.Len(), o.Output.SpillErr)
	}
	all.Reset()
	if o = run(t, r, Command{Line: line, Spill: &all, SpillLimit: 1000}); all.Len() != 1000 || !o.Output.SpillCut || o.Output.SpillErr != nil {
		t.Errorf("%d bytes spilled, %v", all.Len(), o.Output.SpillErr)
	}
	disk := &full{room: 5000}
	if o = run(t, r, Command{Line: line, Spill: disk}); !errors.Is(o.Output.SpillErr, syscall.ENOSPC) || o.Exit != 0 || !strings.HasSuffix(o.Output.Tail, "end\n") {
		t.Errorf("%v, exit %d", o.Output.SpillErr, o.Exit)
	}
}

func TestLive(t *testing.T) {
	t.Parallel()
	r := opened(t, Options{})
	var calls, running atomic.Int32
	var last Progress
	gate := t.TempDir() + "/go"
	o := run(t, r, Command{
		Line:      "echo line 1; while [ ! -e " + gate + " ]; do sleep 0.01; done; for i in {2..40}; do echo line $i; sleep 0.005; done",
		LiveEvery: 50 * time.Millisecond,
		Live: func(p Progress) {
			if running.Add(1) != 1 {
				t.Error("two calls at a time")
			}
			if calls.Add(1) == 1 {
				os.WriteFile(gate, nil, 0o600)
			}
			last = p
			running.Add(-1)
		},
	})
	limit := int32(o.Duration/(50*time.Millisecond)) + 2
	if n := calls.Load(); n < 2 || n > limit || !strings.HasSuffix(last.Tail, "line 40\n") || last.Lines != 40 {
		t.Errorf("%d calls in %v, last %+v", n, o.Duration, last)
	}
}

// A slow front end doesn't slow the command.
func TestSlowLive(t *testing.T) {
	r := opened(t, Options{})
	file := t.TempDir() + "/end"
	slow := make(chan struct{})
	p, err := r.Start(t.Context(), Command{Line: "head -c 3000000 /dev/zero | tr '\\0' x; echo > " + file, LiveEvery: time.Millisecond, Live: func(Progress) { <-slow }})
	if err != nil {
		t.Fatal(err)
	}
	release := sync.OnceFunc(func() { close(slow) })
	defer release()
	waittest.Until(t, "the command ends without the front end", func() bool {
		_, err := os.Stat(file)
		return err == nil
	})
	release()
	ended(t, p)
}

func TestSecretsMasked(t *testing.T) {
	t.Parallel()
	const key = "sk-live-0123456789abcdef"
	r := opened(t, Options{Mask: func() *redact.Mask { return redact.NewMask([]redact.Secret{{Value: key}}, nil) }})
	var spill bytes.Buffer
	var shown strings.Builder
	o := run(t, r, Command{
		Line:  "k=sk-live-; echo ${k}0123456789abcdef; printf %s $k; sleep 0.05; echo 0123456789abcdef; printf 'sk-live\\033[1m-0123456789abcdef\\n'; head -c 40000 /dev/zero | tr '\\0' x; echo ${k}0123456789abcdef",
		Spill: &spill, Live: func(p Progress) { shown.WriteString(p.Tail) }, LiveEvery: time.Millisecond,
	})
	all := o.Output.String()
	if !strings.HasPrefix(all, strings.Repeat(redact.Masked+"\n", 3)+"xxx") || !strings.HasSuffix(all, "x"+redact.Masked+"\n") {
		t.Errorf("%.60q", all)
	}
	for name, s := range map[string]string{"result": all, "file": spill.String(), "live": shown.String()} {
		if strings.Contains(s, key) {
			t.Errorf("the %s contains the secret", name)
		}
	}
}
