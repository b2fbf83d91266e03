package queue

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/adze-dev/adze/fleet/internal/random"
	"github.com/adze-dev/adze/journal"
)

// packed is a line of the file with the finished journals of a run.
type packed struct {
	Token   string          `json:"task"`
	Entries []journal.Entry `json:"entries"`
}

// Pack stores the finished journals of a run in one file and removes all but their last entries. The content of an earlier
// file is kept.
func (q *Queue) Pack(ctx context.Context, run string, tokens []string) error {
	for {
		done, err := q.pack(ctx, run, tokens)
		if err != nil || done {
			return err
		}
	}
}

// pack packs the run. done is false if another process packed it at the same time.
func (q *Queue) pack(ctx context.Context, run string, tokens []string) (done bool, err error) {
	r, err := q.Run(ctx, run)
	if err != nil {
		return false, err
	}
	all, err := q.unpack(ctx, r.Packed)
	if err != nil {
		return false, err
	}
	var long []*Log
	added := false
	for _, token := range tokens {
		l, err := q.OpenLog(ctx, run, token)
		if err != nil {
			return false, err
		}
		if n := len(l.Entries); n < 2 || l.Entries[n-1].Type != TypeDone {
			continue
		}
		long = append(long, l)
		added = added || !samePlace(all[token], l.Entries)
		all[token] = l.Entries
	}
	if added {
		if done, err := q.storePacked(ctx, r, all); err != nil || !done {
			return false, err
		}
	}
	for _, l := range long {
		// Up to the last packed entry: a restarted task has newer ones.
		if err := q.journal.Purge(ctx, jetstream.WithPurgeSubject(l.subject), jetstream.WithPurgeSequence(l.at)); err != nil {
			return false, fmt.Errorf("remove the packed journals: %w", err)
		}
	}
	return true, nil
}

// samePlace reports whether two journals end with the same entry.
func samePlace(a, b []journal.Entry) bool {
	return len(a) == len(b) && a[len(a)-1].At.Equal(b[len(b)-1].At)
}

// storePacked stores journals in a file of the run. done is false if the run has another file by now.
func (q *Queue) storePacked(ctx context.Context, r Run, all map[string][]journal.Entry) (done bool, err error) {
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	lines := json.NewEncoder(zip)
	for _, token := range slices.Sorted(maps.Keys(all)) {
		if err := lines.Encode(packed{token, all[token]}); err != nil {
			return false, err
		}
	}
	if err := zip.Close(); err != nil {
		return false, err
	}
	name := fmt.Sprintf("runs/%s/journals/%s", r.Name, random.Text())
	if err := q.PutFile(ctx, name, b.Bytes()); err != nil {
		return false, err
	}
	now, err := q.Change(ctx, r.Name, func(now *Run) {
		if now.Packed == r.Packed {
			now.Packed = name
		}
	})
	return now.Packed == name, err
}

// unpack reads a file of journals; "": no file yet.
func (q *Queue) unpack(ctx context.Context, name string) (map[string][]journal.Entry, error) {
	if name == "" {
		return map[string][]journal.Entry{}, nil
	}
	raw, err := q.File(ctx, name)
	if err != nil {
		return nil, err
	}
	zip, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	out := map[string][]journal.Entry{}
	for d := json.NewDecoder(zip); ; {
		var p packed
		if err := d.Decode(&p); err == io.EOF {
			return out, nil
		} else if err != nil {
			return nil, err
		}
		out[p.Token] = p.Entries
	}
}

// Packed returns the journals in the file of a run, by the token of the task; none without a file.
func (q *Queue) Packed(ctx context.Context, run string) (map[string][]journal.Entry, error) {
	r, err := q.Run(ctx, run)
	if err != nil {
		return nil, err
	}
	return q.unpack(ctx, r.Packed)
}
