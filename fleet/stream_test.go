// Package fleet will run sessions on many machines. So far it has only tests: that a session's journal is a task's history
// in a JetStream stream.
package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"sync"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/adze-dev/adze/journal"
)

// stream is a [journal.Log] in a JetStream stream that many sessions share, each with its own subject. An append is fenced
// by the sequence number of the session's last message, and sent again with the same Nats-Msg-Id if its answer is lost.
type stream struct {
	js   jetstream.JetStream
	name string // of the stream
	id   string // of the session

	mu   sync.Mutex
	last int64  // Seq of the last entry
	at   uint64 // its sequence number in the stream
}

// openStream continues a session's log, in any process.
func openStream(ctx context.Context, js jetstream.JetStream, name, id string) (*stream, error) {
	s := &stream{js: js, name: name, id: id}
	str, err := js.Stream(ctx, name)
	if err != nil {
		return nil, err
	}
	m, err := str.GetLastMsgForSubject(ctx, s.subject())
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	var e journal.Entry
	if err := json.Unmarshal(m.Data, &e); err != nil {
		return nil, err
	}
	s.last, s.at = e.Seq, m.Sequence
	return s, nil
}

func (s *stream) subject() string { return "journal." + s.id }

// Error codes of JetStream.
const (
	wrongLastSequence = 10071
	tryAgain          = 10164 // another message for the subject is being written
)

func (s *stream) Append(e journal.Entry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.Seq != s.last+1 {
		return fmt.Errorf("append entry %d after %d: %w", e.Seq, s.last, journal.ErrConflict)
	}
	b, err := json.Marshal(e)
	if err != nil {
		return err
	}
	for {
		ack, err := s.js.Publish(context.Background(), s.subject(), b,
			jetstream.WithMsgID(fmt.Sprintf("%s.%d", s.id, e.Seq)), jetstream.WithExpectLastSequencePerSubject(s.at))
		var api *jetstream.APIError
		switch {
		case err == nil && !ack.Duplicate:
			s.last, s.at = e.Seq, ack.Sequence
			return nil
		case err == nil:
			return s.duplicate(e, b, ack.Sequence)
		case errors.As(err, &api) && api.ErrorCode == tryAgain:
		case errors.As(err, &api) && api.ErrorCode == wrongLastSequence:
			return fmt.Errorf("append entry %d: %w", e.Seq, journal.ErrConflict)
		default:
			return err
		}
	}
}

// duplicate decides about an entry whose ID is known: it is this one, if its answer was lost, or that of another writer.
func (s *stream) duplicate(e journal.Entry, b []byte, at uint64) error {
	str, err := s.js.Stream(context.Background(), s.name)
	if err != nil {
		return err
	}
	m, err := str.GetMsg(context.Background(), at)
	if err != nil {
		return err
	}
	if string(m.Data) != string(b) {
		return fmt.Errorf("append entry %d: %w", e.Seq, journal.ErrConflict)
	}
	s.last, s.at = e.Seq, at
	return nil
}

func (s *stream) Read(from int64) iter.Seq2[journal.Entry, error] {
	return func(yield func(journal.Entry, error) bool) {
		ctx := context.Background()
		str, err := s.js.Stream(ctx, s.name)
		if err != nil {
			yield(journal.Entry{}, err)
			return
		}
		last, err := str.GetLastMsgForSubject(ctx, s.subject())
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return
		}
		if err != nil {
			yield(journal.Entry{}, err)
			return
		}
		consumer, err := str.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{FilterSubjects: []string{s.subject()}})
		if err != nil {
			yield(journal.Entry{}, err)
			return
		}
		messages, err := consumer.Messages()
		if err != nil {
			yield(journal.Entry{}, err)
			return
		}
		defer messages.Stop()
		for {
			m, err := messages.Next()
			if err != nil {
				yield(journal.Entry{}, err)
				return
			}
			var e journal.Entry
			if err := json.Unmarshal(m.Data(), &e); err != nil {
				yield(e, err)
				return
			}
			if e.Seq >= from && !yield(e, nil) {
				return
			}
			if info, err := m.Metadata(); err != nil || info.Sequence.Stream >= last.Sequence {
				if err != nil {
					yield(journal.Entry{}, err)
				}
				return
			}
		}
	}
}

// Sync does nothing: an append returns when the server has the entry.
func (s *stream) Sync() error  { return nil }
func (s *stream) Close() error { return nil }
