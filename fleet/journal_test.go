package fleet

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

const streamName = "JOURNAL"

// startServer runs a server in this process, with the usual limit of 1 MB for a message. It listens nowhere.
func startServer(t *testing.T) jetstream.JetStream {
	t.Helper()
	s, err := server.NewServer(&server.Options{
		ServerName: "test", DontListen: true, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true, MaxPayload: 1 << 20,
	})
	if err != nil {
		t.Fatal(err)
	}
	go s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(2 * time.Minute) {
		t.Fatal("the server isn't ready")
	}
	nc, err := nats.Connect("", nats.InProcessServer(s))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(2*time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: streamName, Subjects: []string{"journal.>"}, AllowDirect: true}); err != nil {
		t.Fatal(err)
	}
	return js
}

func sessionID(n int) string { return fmt.Sprintf("%08x-0000-4000-8000-000000000000", n) }

func clock() func() time.Time {
	at := time.Date(2026, 11, 16, 6, 0, 0, 123456789, time.UTC)
	return func() time.Time {
		at = at.Add(time.Second)
		return at
	}
}

// script is what a session does: turns with calls and a subagent, long texts, pictures, a compaction, an undo. It stops in
// the middle of a turn.
func script(id string, seed uint64) (by []string, all []journal.Data) {
	r := rand.New(rand.NewPCG(seed, 2))
	add := func(agent string, data ...journal.Data) {
		for _, d := range data {
			by, all = append(by, agent), append(all, d)
		}
	}
	add("", journal.Opened{ID: id, CWD: "/work", Model: "m", System: "system", Declarations: []journal.Declaration{{Name: "edit", Parameters: json.RawMessage(`{"type":"object"}`)}}})
	for n := 1; n <= 20; n++ {
		agent := []string{"", "", "explore-1"}[r.IntN(3)]
		long := strings.Repeat("<long> \"text\"\n", 1+r.IntN(2)*8000)
		picture := tool.Media{MIMEType: "image/png", Data: []byte(long)}
		call := model.Call{Call: tool.Call{ID: fmt.Sprint("call-", n), Name: "edit", Args: json.RawMessage(`{"blob":"sha256:1","bytes":2}`)}}
		content := []tool.Part{tool.Text(long), picture}
		add(agent,
			journal.Message{Message: model.Prompt(long)},
			journal.Asked{Turn: n, Model: "m"},
			journal.Called{Turn: n, Call: call},
			journal.Started{ID: call.ID, Name: call.Name, Args: json.RawMessage(`{}`), Access: []tool.Access{{Verb: tool.Writes, Target: "/a"}}},
			journal.Answer{Turn: n, Usage: model.Usage{Input: n, Output: 1}, Reason: model.Calls,
				Message: model.Message{Role: model.Assistant, Parts: []model.Part{model.Text(long), call}}},
		)
		if n == 20 {
			break // killed
		}
		add(agent,
			journal.Finished{ID: call.ID, Outcome: journal.Outcome{Name: "edit", Status: tool.StatusSuccess, Result: tool.Result{Content: content}},
				Seen: []journal.Seen{{Path: "/a", Hash: "00", Whole: true}}, Todos: json.RawMessage(fmt.Sprintf(`[%d]`, n))},
			journal.Responses{Turn: n, Message: model.Message{Role: model.Tool, Parts: []model.Part{model.Response{ID: call.ID, Name: "edit", Content: content}}}},
		)
		switch r.IntN(6) {
		case 0:
			add("", journal.Compacted{Messages: []model.Message{model.Prompt("summary")}})
		case 1:
			add("", journal.Undone{To: int64(len(all) - r.IntN(8))})
		case 2:
			add("", journal.Mode{Mode: "plan"}, journal.Model{Model: "m2"})
		}
	}
	return by, all
}

func write(t *testing.T, log journal.Log, blobs journal.Blobs, id string, seed uint64) journal.State {
	t.Helper()
	w := journal.NewWriter(log, blobs, journal.State{})
	w.Now = clock()
	by, all := script(id, seed)
	for i, d := range all {
		if _, err := w.Write(by[i], d); err != nil {
			t.Fatal(err)
		}
	}
	state, err := journal.Fold(log.Read(1), blobs)
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// diff compares states by their JSON first, because cmp is slow on long texts.
func diff(a, b journal.State) string {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	if errX == nil && errY == nil && string(x) == string(y) {
		return ""
	}
	return cmp.Diff(a, b, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(journal.State{}, journal.Agent{}, journal.Call{}))
}

// One fold gives the same state from a file, from memory and from a stream.
func TestOneFold(t *testing.T) {
	js := startServer(t)
	sessions := journal.Sessions{Home: t.TempDir()}
	for seed := range 8 {
		id := sessionID(seed)
		file, err := sessions.Create(id)
		if err != nil {
			t.Fatal(err)
		}
		log, err := openStream(t.Context(), js, streamName, id)
		if err != nil {
			t.Fatal(err)
		}
		fromFile := write(t, file, sessions.Store(), id, uint64(seed))
		file.Close()
		fromMemory := write(t, &journal.Memory{}, &journal.MemoryBlobs{}, id, uint64(seed))
		fromStream := write(t, log, &journal.MemoryBlobs{}, id, uint64(seed))
		if len(fromFile.Agent("").Calls)+len(fromFile.Agent("explore-1").Calls) != 1 {
			t.Errorf("seed %d: one call is not answered, got %v", seed, fromFile.Agent("").Calls)
		}
		if d := diff(fromFile, fromMemory); d != "" {
			t.Errorf("seed %d: -file +memory\n%s", seed, d)
		}
		if d := diff(fromFile, fromStream); d != "" {
			t.Errorf("seed %d: -file +stream\n%s", seed, d)
		}
		view, resumed, err := sessions.View(id)
		if err != nil {
			t.Fatal(err)
		}
		view.Close()
		if d := diff(resumed, fromStream); d != "" {
			t.Errorf("seed %d: -resumed +stream\n%s", seed, d)
		}
	}
}

// Of two writers that continue the same session, one wins; the other's entries are rejected, and what is sent twice is
// there once.
func TestWritersAreFenced(t *testing.T) {
	js := startServer(t)
	id := sessionID(1)
	const writers, entries = 4, 25
	var wg sync.WaitGroup
	for n := range writers {
		wg.Go(func() {
			for done := 0; done < entries; {
				log, err := openStream(t.Context(), js, streamName, id)
				if err != nil {
					t.Error(err)
					return
				}
				for done < entries {
					e := journal.Entry{V: 1, Seq: log.last + 1, Type: journal.TypeMode, Data: json.RawMessage(fmt.Sprintf(`{"mode":"%d.%d"}`, n, done))}
					err := log.Append(e)
					if errors.Is(err, journal.ErrConflict) {
						break // another one was faster: continue after it
					}
					if err != nil {
						t.Error(err)
						return
					}
					done++
					again := &stream{js: js, name: streamName, id: id, last: e.Seq - 1, at: log.at}
					if err := again.Append(e); err != nil && !errors.Is(err, journal.ErrConflict) {
						t.Error(err) // its answer was lost: sent again
						return
					}
				}
			}
		})
	}
	wg.Wait()
	log, err := openStream(t.Context(), js, streamName, id)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	var next int64 = 1
	for e, err := range log.Read(1) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Seq != next || seen[string(e.Data)] {
			t.Fatalf("entry %d is %d: %s", next, e.Seq, e.Data)
		}
		seen[string(e.Data)] = true
		next++
	}
	if len(seen) != writers*entries {
		t.Errorf("%d entries, want %d", len(seen), writers*entries)
	}
	if last, err := journal.Last(log); last != writers*entries || err != nil {
		t.Errorf("last %d, %v", last, err)
	}
}
