package queue

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/adze-dev/adze/fleet/internal/random"
	"github.com/adze-dev/adze/journal"
)

// packed is a line of the file with the finished journals of a run.
type packed struct {
	Token   string          `json:"task"`
	Entries []journal.Entry `json:"entries"`
}

// Pack stores the finished journals of a run in one file and removes all but their last entries. What an earlier file has
// stays.
func (q *Queue) Pack(ctx context.Context, run string, tokens []string) error {
	r, err := q.Run(ctx, run)
	if err != nil {
		return err
	}
	before := map[string][]journal.Entry{}
	if r.Packed != "" {
		if before, err = q.unpack(ctx, r.Packed); err != nil {
			return err
		}
	}
	var long []*Log
	for _, token := range tokens {
		l, err := q.OpenLog(ctx, run, token)
		if err != nil {
			return err
		}
		if n := len(l.Entries); n < 2 || l.Entries[n-1].Type != TypeDone {
			continue
		}
		before[token] = l.Entries
		long = append(long, l)
	}
	if len(long) == 0 {
		return nil
	}
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	lines := json.NewEncoder(zip)
	for _, token := range tokens {
		if e := before[token]; e != nil {
			if err := lines.Encode(packed{token, e}); err != nil {
				return err
			}
		}
	}
	if err := zip.Close(); err != nil {
		return err
	}
	name := fmt.Sprintf("runs/%s/journals/%s", run, random.Text())
	if err := q.PutFile(ctx, name, b.Bytes()); err != nil {
		return err
	}
	if _, err := q.Change(ctx, run, func(r *Run) { r.Packed = name }); err != nil {
		return err
	}
	for _, l := range long {
		// Up to the last entry of then: a task that was started again has newer ones.
		if err := q.journal.Purge(ctx, jetstream.WithPurgeSubject(l.subject), jetstream.WithPurgeSequence(l.at)); err != nil {
			return fmt.Errorf("remove the packed journals: %w", err)
		}
	}
	return nil
}

func (q *Queue) unpack(ctx context.Context, name string) (map[string][]journal.Entry, error) {
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

// Packed are the entries of a task in the file of its run; none if there is no file.
func (q *Queue) Packed(ctx context.Context, run, token string) ([]journal.Entry, error) {
	r, err := q.Run(ctx, run)
	if err != nil || r.Packed == "" {
		return nil, err
	}
	all, err := q.unpack(ctx, r.Packed)
	return all[token], err
}
