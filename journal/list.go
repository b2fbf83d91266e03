package journal

import (
	"encoding/json"
	"errors"
	"io"
	"iter"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/adze-dev/adze/internal/engine/sorted"
	"github.com/adze-dev/adze/model"
)

// SessionState is the state of a session in a list.
type SessionState string

// The states of sessions.
const (
	StateOpen        SessionState = "open"        // a process has it open
	StateClosed      SessionState = "closed"      // it ended normally
	StateInterrupted SessionState = "interrupted" // its process was killed
)

// Info is a session in a list.
type Info struct {
	ID      string       `json:"id"`
	CWD     string       `json:"cwd"`
	Title   string       `json:"title"`
	Name    string       `json:"name,omitempty"` // that the user gave it
	Model   string       `json:"model"`
	Created time.Time    `json:"created"`
	Updated time.Time    `json:"updated"`
	Turns   int          `json:"turns"`
	Bytes   int64        `json:"bytes"` // of the journal
	State   SessionState `json:"state"`
	Parent  *Parent      `json:"parent"`
}

// Label returns the name and the title, as far as the session has them.
func (i Info) Label() string {
	if i.Name == "" || i.Title == "" {
		return i.Name + i.Title
	}
	return i.Name + ": " + i.Title
}

// List returns all readable sessions of this user, the newest first. It reads only the start and the end of each.
func (s Sessions) List() ([]Info, error) {
	ids, err := s.IDs()
	all := make([]Info, len(ids))
	inParallel(len(ids), func() func(int) {
		var r infoReader
		return func(i int) { all[i], _ = r.read(s, ids[i]) } // an unreadable one has no ID
	})
	all = slices.DeleteFunc(all, func(i Info) bool { return i.ID == "" })
	sorted.By(all, func(a, b Info) int { return b.Updated.Compare(a.Updated) }) // IDs were sorted
	return all, err
}

// inParallel calls functions with the numbers below n, each with some of them. worker makes one of the functions.
func inParallel(n int, worker func() func(i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		wg.Go(func() {
			work := worker()
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				work(int(i))
			}
		})
	}
	wg.Wait()
}

// Info returns one session as in List.
func (s Sessions) Info(id string) (Info, error) {
	var r infoReader
	return r.read(s, id)
}

// infoReader reads sessions one after another.
type infoReader struct{ buf []byte }

var errNoEntries = errors.New("the journal has no entries")

func (r *infoReader) read(s Sessions, id string) (Info, error) {
	f, err := s.journal(id, os.O_RDONLY)
	if err != nil {
		return Info{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Info{}, err
	}
	i := Info{ID: id, Bytes: info.Size(), State: StateInterrupted}
	if err := r.start(&i, f, s.Store()); err != nil {
		return Info{}, err
	}
	if err := r.end(&i, f); err != nil {
		return Info{}, err
	}
	if i.Updated.Before(i.Created) {
		i.Updated = i.Created // a fork is newer than its last entry
	}
	if i.State != StateClosed && locked(s.Dir(id)) {
		i.State = StateOpen
	}
	return i, nil
}

const (
	maxStart = 1 << 20 // bytes in which the first prompt is searched
	maxEnd   = 8 << 20 // bytes in which the last answer is searched
)

// start reads the first entry and the first prompt.
func (r *infoReader) start(i *Info, f *os.File, blobs Blobs) error {
	in := readLines(f, 0, min(i.Bytes, maxStart))
	in.all, in.chunk = r.buf, 48<<10
	defer func() { r.buf = in.all }()
	for first := true; ; first = false {
		line, _, _, err := in.next()
		if err != nil && err != io.EOF {
			return err
		}
		e, data, ok := head(line)
		if !ok { // of another program
			e, ok = parse(line)
			data = e.Data
		}
		switch {
		case first && (!ok || e.Type != TypeOpened):
			return errNoEntries
		case err == io.EOF:
			return nil
		case first:
			i.Created, i.Updated = e.At, e.At
			i.CWD, _ = text(memberOf(data, "cwd"))
			i.Model, _ = text(memberOf(data, "model"))
			_ = json.Unmarshal(memberOf(data, "parent"), &i.Parent) // no parent is no error of the session
		case ok && e.Type == TypeMessage && e.By == "":
			if title, found := firstPrompt(data, blobs); found {
				i.Title = title
				return nil
			}
		}
	}
}

// firstPrompt returns the title from a message, if it is the user's and not truncated.
func firstPrompt(data []byte, blobs Blobs) (string, bool) {
	end, ok := valueEnd(data, 0, 0)
	if !ok {
		return "", false
	}
	d, _, err := Recover(Entry{Type: TypeMessage, Data: data[:end]}, blobs)
	m, _ := d.(Message)
	if err != nil || m.Kind != Prompt || m.Message.Role != model.User {
		return "", false
	}
	return Title(Typed(m.Message)), true
}

// end reads the last entry and the last answer.
func (r *infoReader) end(i *Info, f *os.File) error {
	last, turns, named := false, false, false
	return eachBackwardIn(f, i.Bytes, max(0, i.Bytes-maxEnd), &r.buf, func(offset int64, line []byte) bool {
		e, data, ok := head(line) // the data may be truncated
		if !ok {
			return true
		}
		if !last {
			last = true
			i.Updated = e.At
			if e.Type == TypeClosed {
				i.State = StateClosed
			}
		}
		if e.By != "" {
			return true
		}
		switch e.Type {
		case TypeAnswer, TypeClosed, TypeCompacted:
			var n int64
			n, _, turns = number(memberOf(data, "turns"))
			i.Turns = int(n)
			if m, ok := text(memberOf(data, "model")); ok && m != "" {
				i.Model = m
			}
			fallthrough
		case TypeNamed:
			if !named {
				i.Name, _ = text(memberOf(data, "name"))
			}
			named = named || e.Type == TypeNamed
		}
		return !turns
	})
}

// Spent is the usage of one answer of a session.
type Spent struct {
	Session string
	At      time.Time
	Model   string
	Usage   model.Usage
	Calls   int // tool calls that ended since the answer before
}

// Spent returns the answers since a time, of all readable sessions. Answers that a fork copied are not counted again.
func (s Sessions) Spent(since time.Time) iter.Seq2[Spent, error] {
	return func(yield func(Spent, error) bool) {
		all, err := s.List()
		if err != nil {
			yield(Spent{}, err)
			return
		}
		for _, i := range all {
			if i.Updated.Before(since) {
				continue
			}
			if !s.spent(i, since, yield) {
				return
			}
		}
	}
}

// spent reads one session. It reports whether to continue with the next.
func (s Sessions) spent(i Info, since time.Time, yield func(Spent, error) bool) bool {
	f, err := s.Entries(i.ID)
	if err != nil {
		return true // deleted meanwhile
	}
	defer f.Close()
	in := f.lines()
	for calls := 0; ; {
		line, _, _, err := in.next()
		if err != nil {
			return err == io.EOF || yield(Spent{}, err)
		}
		e, data, ok := head(line)
		if !ok || i.Parent != nil && e.Seq <= i.Parent.Seq || e.At.Before(since) {
			continue
		}
		switch e.Type {
		case TypeFinished:
			calls++
		case TypeAnswer:
			answer := Spent{Session: i.ID, At: e.At, Calls: calls}
			answer.Model, _ = text(memberOf(data, "model"))
			_ = json.Unmarshal(memberOf(data, "usage"), &answer.Usage)
			if calls = 0; !yield(answer, nil) {
				return false
			}
		}
	}
}
