package queue

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/adze-dev/adze/fleet/internal/task"
	"github.com/adze-dev/adze/journal"
)

// serve starts a queue for a test.
func serve(t *testing.T) (*Embedded, *Queue) {
	t.Helper()
	e, err := Serve(t.TempDir(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e, join(t, e)
}

func join(t *testing.T, e *Embedded) *Queue {
	t.Helper()
	o := e.Options()
	o.Lease = time.Second
	q, err := Connect(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Close)
	return q
}

func entry(seq int64) journal.Entry {
	return journal.Entry{V: 1, Seq: seq, Type: journal.TypeMode, Data: json.RawMessage(fmt.Sprintf(`{"mode":"%d"}`, seq))}
}

// A new owner's entry makes all appends of the old one fail, and the old one knows it.
func TestFence(t *testing.T) {
	t.Parallel()
	_, q := serve(t)
	ctx := t.Context()
	first, err := q.OpenLog(ctx, "r", "t")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(first.Write(ctx, TypeOwner, Owner{Worker: "a"}), first.Append(ctx, entry(2), "snap"), first.Owns(ctx)); err != nil {
		t.Fatal(err)
	}
	second, err := q.OpenLog(ctx, "r", "t")
	if err != nil || len(second.Entries) != 2 || second.Snapshot != "snap" || second.After != 2 {
		t.Fatalf("%v %+v", err, second)
	}
	if err := second.Write(ctx, TypeOwner, Owner{Worker: "b"}); err != nil {
		t.Fatal(err)
	}
	if err := first.Append(ctx, entry(3), ""); !errors.Is(err, ErrLost) {
		t.Errorf("the old owner appended: %v", err)
	}
	if err := first.Owns(ctx); !errors.Is(err, ErrLost) {
		t.Errorf("the old owner may spend: %v", err)
	}
	if err := errors.Join(second.Append(ctx, entry(4), ""), second.Owns(ctx)); err != nil {
		t.Error(err)
	}
}

// Of writers that all append to one journal, each entry is there once and in order.
func TestConcurrentOwners(t *testing.T) {
	t.Parallel()
	e, _ := serve(t)
	const writers, entries = 4, 10
	var wg sync.WaitGroup
	for n := range writers {
		q := join(t, e)
		wg.Go(func() {
			for done := 0; done < entries; {
				l, err := q.OpenLog(t.Context(), "r", "t")
				if err != nil {
					t.Error(err)
					return
				}
				err = l.Write(t.Context(), "mark", fmt.Sprint(n, ".", done))
				if err == nil {
					done++
				} else if !errors.Is(err, ErrLost) {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	l, err := join(t, e).OpenLog(t.Context(), "r", "t")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for i, e := range l.Entries {
		if e.Seq != int64(i+1) || seen[string(e.Data)] {
			t.Fatalf("entry %d: %+v", i, e)
		}
		seen[string(e.Data)] = true
	}
	if len(seen) != writers*entries {
		t.Errorf("%d entries", len(seen))
	}
}

// The server goes away and comes back while entries are appended: none is lost, none is there twice, all are in order.
func TestServerRestarts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e, err := Serve(dir, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	q := join(t, e)
	l, err := q.OpenLog(t.Context(), "r", "t")
	if err != nil {
		t.Fatal(err)
	}
	const restarts, each = 3, 40
	appended := make(chan int, restarts*each)
	go func() {
		defer close(appended)
		for i := range restarts * each {
			if err := l.Append(t.Context(), entry(int64(i+1)), ""); err != nil {
				t.Error(err)
				return
			}
			appended <- i
		}
	}()
	next := 0
	for i := range appended {
		if i == (next+1)*each-each/2 {
			next++
			if err := e.Close(); err != nil {
				t.Error(err)
			}
			if e, err = Serve(dir, "127.0.0.1:0"); err != nil {
				t.Fatal(err)
			}
		}
	}
	defer e.Close()
	again, err := q.OpenLog(t.Context(), "r", "t")
	if err != nil || len(again.Entries) != restarts*each {
		t.Fatalf("%v: %d entries, want %d", err, len(again.Entries), restarts*each)
	}
	for i, e := range again.Entries {
		if e.Seq != int64(i+1) {
			t.Fatalf("entry %d is %d", i, e.Seq)
		}
	}
}

func tasks(n int) task.File {
	f := task.File{Run: "r"}
	for i := range n {
		f.Tasks = append(f.Tasks, task.Task{ID: fmt.Sprintf("t%d", i), Prompt: "x"})
	}
	return f
}

// Commands that pack a run at the same time lose none of its journals.
func TestPackConcurrently(t *testing.T) {
	t.Parallel()
	e, q := serve(t)
	ctx := t.Context()
	const n = 8
	if _, err := q.Submit(ctx, tasks(n), 0); err != nil {
		t.Fatal(err)
	}
	var tokens []string
	var wg sync.WaitGroup
	for i := range n { // the tasks end one after the other, and each time some pack what is done
		token := fmt.Sprint("t", i)
		l, err := q.OpenLog(ctx, "r", token)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(l.Append(ctx, entry(1), ""), l.Write(ctx, TypeDone, struct{}{})); err != nil {
			t.Fatal(err)
		}
		tokens = append(tokens, token)
		for range 2 {
			other, now := join(t, e), slices.Clone(tokens)
			wg.Go(func() {
				if err := other.Pack(ctx, "r", now); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	all, err := q.Packed(ctx, "r")
	if err != nil || len(all) != n {
		t.Fatalf("%d of %d journals: %v", len(all), n, err)
	}
	for token, entries := range all {
		if len(entries) != 2 {
			t.Errorf("%s has %d entries", token, len(entries))
		}
	}
}

// Submitting twice makes one run. A task that is done is not submitted again, and one that got lost is.
func TestSubmitOnce(t *testing.T) {
	t.Parallel()
	_, q := serve(t)
	ctx := t.Context()
	for range 2 {
		if _, err := q.Submit(ctx, tasks(3), 0); err != nil {
			t.Fatal(err)
		}
		if w, err := q.Waiting(ctx, "r"); err != nil || len(w) != 3 {
			t.Fatalf("%v %v", err, w)
		}
	}
	item, err := q.Take(ctx, time.Minute)
	if err != nil || item == nil {
		t.Fatal(err)
	}
	l, err := q.OpenLog(ctx, "r", item.Token())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(l.Write(ctx, TypeDone, struct{}{}), item.Done(ctx)); err != nil {
		t.Fatal(err)
	}
	lost, err := q.Take(ctx, time.Minute)
	if err != nil || lost == nil {
		t.Fatal(err)
	}
	if err := lost.Done(ctx); err != nil { // an acknowledgment without a result
		t.Fatal(err)
	}
	if _, err := q.Submit(ctx, tasks(3), 0); err != nil {
		t.Fatal(err)
	}
	if w, err := q.Waiting(ctx, "r"); err != nil || len(w) != 2 || w[item.Token()] {
		t.Errorf("%v %v", err, w)
	}
}

// A task or a run of another version is reported, and stays for a worker that can read it.
func TestOtherVersion(t *testing.T) {
	t.Parallel()
	_, q := serve(t)
	ctx := t.Context()
	if _, err := q.Submit(ctx, tasks(1), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := q.js.Publish(ctx, "tasks.newer.t0", []byte(`{"format":2,"run":"newer","work":{}}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := q.runs.PutString(ctx, "newer", `{"format":2,"name":"newer"}`); err != nil {
		t.Fatal(err)
	}
	var other *FormatError
	if _, err := q.Run(ctx, "newer"); !errors.As(err, &other) || !strings.Contains(err.Error(), "(format 2; this one has 1)\nUse the same version on all machines.") {
		t.Errorf("the run: %v", err)
	}
	taken := 0
	for range 2 {
		item, err := q.Take(ctx, time.Minute)
		switch {
		case item != nil && item.Run == "r":
			taken++
		case !errors.As(err, &other) || !strings.Contains(err.Error(), "tasks.newer.t0: "):
			t.Errorf("%v: %v", item, err)
		}
	}
	if waiting, err := q.Waiting(ctx, "newer"); err != nil || len(waiting) != 1 || taken != 1 {
		t.Errorf("%d tasks of this version; of the other: %v %v", taken, waiting, err)
	}
}

// A task of a worker that is silent goes to another; one with heartbeats stays.
func TestLease(t *testing.T) {
	t.Parallel()
	_, q := serve(t)
	ctx := t.Context()
	if _, err := q.Submit(ctx, tasks(1), 0); err != nil {
		t.Fatal(err)
	}
	first, err := q.Take(ctx, time.Minute)
	if err != nil || first == nil || !first.Fresh() {
		t.Fatal(err)
	}
	if err := first.Beat(ctx); err != nil {
		t.Fatal(err)
	}
	second, err := q.Take(ctx, time.Minute)
	if err != nil || second == nil || second.Task.ID != "t0" {
		t.Fatalf("%v %v", err, second)
	}
	if first.Fresh() {
		t.Error("the silent worker counts as alive")
	}
}

// Counters add up over connections.
func TestCounters(t *testing.T) {
	t.Parallel()
	e, q := serve(t)
	var wg sync.WaitGroup
	for range 4 {
		q := join(t, e)
		wg.Go(func() {
			for range 25 {
				if _, err := q.Add(t.Context(), "c.x", 2); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n, err := q.Add(t.Context(), "c.x", -1); err != nil || n != 199 {
		t.Errorf("%d %v", n, err)
	}
}

// Packing keeps the last entry, and what happened can still be read. A retry continues after it.
func TestPack(t *testing.T) {
	t.Parallel()
	_, q := serve(t)
	ctx := t.Context()
	f := tasks(2)
	if _, err := q.Submit(ctx, f, 0); err != nil {
		t.Fatal(err)
	}
	l, err := q.OpenLog(ctx, "r", "t0")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(l.Write(ctx, TypeOwner, Owner{}), l.Append(ctx, entry(2), ""), l.Write(ctx, TypeDone, struct{}{})); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := q.Pack(ctx, "r", []string{"t0", "t1"}); err != nil {
			t.Fatal(err)
		}
		if l, err = q.OpenLog(ctx, "r", "t0"); err != nil || len(l.Entries) != 1 || l.Entries[0].Type != TypeDone {
			t.Fatalf("%v %+v", err, l)
		}
		if all, err := q.Packed(ctx, "r"); err != nil || len(all["t0"]) != 3 {
			t.Fatalf("%v %v", err, all)
		}
	}
	if err := q.Again(ctx, "r", f.Tasks[:1]); err != nil {
		t.Fatal(err)
	}
	if l, err = q.OpenLog(ctx, "r", "t0"); err != nil || len(l.Entries) != 1 || l.Entries[0].Type != TypeAgain || l.Seq != 1 {
		t.Fatalf("%v %+v", err, l)
	}
}

// A directory has one server; another process learns its address.
func TestOneServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e, err := Serve(dir, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	_, err = Serve(dir, "127.0.0.1:0")
	var used *UsedError
	if !errors.As(err, &used) || used.URL != e.URL || used.Token != e.Token {
		t.Errorf("%v", err)
	}
	if TokenOf(dir, e.URL+"/") != e.Token || TokenOf(dir, "nats://127.0.0.1:1") != "" || TokenOf(t.TempDir(), e.URL) != "" {
		t.Error("the token is not that of the URL")
	}
}

// Plain TCP goes to this machine only, whichever of several servers it is.
func TestPlain(t *testing.T) {
	t.Parallel()
	for urls, want := range map[string]bool{
		"nats://127.0.0.1:4222": false, "localhost:4222": false, "nats://[::1]:4222/": false, "nats://a:b@127.0.0.1:4222": false, "tls://queue:4222": false,
		"wss://queue": false, "tls://a:4222,tls://b:4222": false, "tls://a:4222, nats://127.0.0.1:4222": false,
		"queue:4222": true, "nats://queue": true, "ws://queue:80": true, "nats://127.0.0.1@queue:4222": true, "tls://a:4222,nats://b:4222": true,
		"nats://127.0.0.1:4222,10.0.0.1:4222": true, "tcp://10.0.0.1:4222": true, "": true,
	} {
		if got := plain(urls); got != want {
			t.Errorf("%q: %v", urls, got)
		}
	}
}

// Nothing is read from nodes of a cluster that may not have the last value: a run that was just created was unknown to another node.
func TestNoDirectAccess(t *testing.T) {
	t.Parallel()
	_, q := serve(t)
	n := 0
	for info := range q.js.ListStreams(t.Context()).Info() {
		if n++; info.Config.AllowDirect {
			t.Errorf("%s allows direct access", info.Config.Name)
		}
	}
	if n != 6 {
		t.Errorf("%d streams", n)
	}
}
