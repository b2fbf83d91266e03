package api

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"iter"
	"sync/atomic"
	"time"

	"github.com/adze-dev/adze/model"
)

// Exchange is one request of an adapter and its answer.
type Exchange struct {
	Path   string                    // after the base URL and the version; may have a query
	Encode func() ([]byte, error)    // the body; called for each attempt, because Learn may change it
	Merged bool                      // Encode merged Options.Extra into the body, which is faster with [Kept]
	Decode func(out *Output) Decoder // a new decoder for each attempt
	Effort string                    // the requested effort, for errors; "": none
	// Learn reports whether a failure shows how to change the request so that the server accepts it; nil: never. Then
	// the request is sent again at once. It must not report true twice for the same reason. If it sets Failure.Note,
	// the user sees it.
	Learn func(*Failure) bool
}

// Decoder turns a server's response into the events of one answer.
type Decoder interface {
	// Event reads the data of one server-sent event. done reports that the answer is complete.
	Event(data []byte) (done bool, err error)
	// Body reads an answer that came as one JSON value although a stream was requested.
	Body(data []byte) error
	// Complete reports whether the answer is complete even if the stream ends here, without done.
	Complete() bool
	// Finish emits the rest of a complete answer, then a Usage if known, then an End.
	Finish() error
	// Salvage emits the rest of an answer that was cut off: text and complete calls, but no Usage and no End.
	Salvage() error
}

// Output receives the events of an answer.
type Output struct {
	yield func(model.Event, error) bool
	begun bool
}

// errStopped reports that the reader of the events stopped.
var errStopped = errors.New("the caller stopped reading the answer")

// Emit emits an event. A decoder returns its error at once.
func (o *Output) Emit(e model.Event) error {
	o.begun = true
	if !o.yield(e, nil) {
		return errStopped
	}
	return nil
}

// Begun reports whether an event was emitted. From then on the request can't be sent again.
func (o *Output) Begun() bool { return o.begun }

// maxLearned bounds how often one request is changed.
const maxLearned = 8

// Stream sends the request and yields the events of its answer. All attempts share one budget.
func (c *Client) Stream(ctx context.Context, x Exchange) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		again := retries{Retry: c.Options.Retry}
		learned := 0
		for {
			out := &Output{yield: yield}
			f := c.attempt(ctx, x, out)
			if f == nil || errors.Is(f.Err, errStopped) {
				return
			}
			if err := ctx.Err(); err != nil {
				yield(nil, err)
				return
			}
			if !out.begun && learned < maxLearned && (c.nextPrefix(f) || x.Learn != nil && x.Learn(f) ||
				c.withoutImages(f)) {
				learned++
				if f.Note != nil && !yield(model.Retry{Attempt: learned, Err: f.Note}, nil) {
					return
				}
				continue
			}
			wait, ok := time.Duration(0), false
			if !out.begun {
				wait, ok = again.next(f)
			}
			if !ok {
				yield(nil, c.hidden(c.withNames(ctx, f.aboutEffort(x.Effort))))
				return
			}
			if !yield(model.Retry{Attempt: again.attempts, Wait: wait, Err: c.hidden(f.Err)}, nil) {
				return
			}
			if err := sleep(ctx, wait); err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

// attempt sends the request once and reads the answer.
func (c *Client) attempt(ctx context.Context, x Exchange, out *Output) *Failure {
	payload, err := x.Encode()
	if err == nil && !x.Merged {
		payload, err = Merge(payload, c.Options.Extra)
	}
	if err != nil {
		return &Failure{Err: err}
	}
	ctx, p := newPatience(ctx, c.Options.FirstByte, c.Options.NextByte)
	defer p.stop()
	prefix := c.currentPrefix()
	resp, f := c.send(ctx, "POST", c.prefixes[prefix]+x.Path, payload)
	if f != nil {
		f.prefix, f.sent = prefix, payload
		return f
	}
	defer resp.Body.Close()
	in := unzipped(bufio.NewReader(body{resp.Body, ctx, p}))
	r := reading{Decoder: x.Decode(out), out: out}
	streamed, err := isStream(in)
	if err == nil {
		err = r.read(in, streamed)
	} else {
		err = r.broken(err)
	}
	if err != nil {
		f = answerFailure(err)
		f.prefix, f.sent = prefix, payload
		return f
	}
	return nil
}

// unzipped returns an answer without the compression that some servers use although it wasn't requested.
func unzipped(in *bufio.Reader) *bufio.Reader {
	if magic, err := in.Peek(2); err != nil || magic[0] != 0x1f || magic[1] != 0x8b {
		return in
	}
	z, err := gzip.NewReader(in)
	if err != nil {
		return in
	}
	return bufio.NewReader(z)
}

// isStream reports whether a response is a stream by its first byte that isn't whitespace: JSON begins with a bracket,
// and a stream never does. Content-Type is less reliable.
func isStream(in *bufio.Reader) (bool, error) {
	for {
		b, err := in.ReadByte()
		if errors.Is(err, io.EOF) {
			return false, errors.New("the answer is empty")
		}
		if err != nil {
			return false, err
		}
		switch b {
		case ' ', '\t', '\r', '\n':
			continue
		case '<':
			return false, errWebPage
		}
		return b != '{' && b != '[', in.UnreadByte()
	}
}

// errWebPage reports a web page instead of an answer.
var errWebPage = model.Errorf(model.ErrWire, "the server answered with a web page\nCheck the base URL (it usually "+
	"ends in /v1).")

// reading is one answer that is being read.
type reading struct {
	Decoder
	out *Output
}

// read reads a complete answer in either form.
func (r reading) read(in io.Reader, streamed bool) error {
	finish := r.readStream
	if !streamed {
		finish = r.readBody
	}
	done, err := finish(in)
	if err == nil && !done && !r.Complete() {
		err = model.Errorf(model.ErrCut, "answer cut off: the stream ended too early%s", r.said())
	}
	if err == nil {
		return r.Finish()
	}
	if model.CutShort(err) {
		if stopped := r.Salvage(); stopped != nil {
			return stopped
		}
	}
	return err
}

// readStream reads server-sent events and reports whether the decoder has seen the last one.
func (r reading) readStream(in io.Reader) (done bool, err error) {
	events := newSSEReader(in)
	for !done {
		data, err := events.next()
		switch {
		case errors.Is(err, io.EOF):
			return false, nil
		case errors.Is(err, errEventTooLong):
			return false, model.Errorf(model.ErrWire, "can't read the server's answer: %w", err)
		case err != nil && r.Complete():
			return false, nil // at most the usage is lost
		case err != nil:
			return false, r.broken(err)
		}
		if done, err = r.Event(data); err != nil {
			if events.end != nil && errors.Is(err, model.ErrWire) {
				return false, model.Errorf(model.ErrCut, "answer cut off in the middle of an event%s", r.said())
			}
			return false, err
		}
	}
	return true, nil
}

// readBody reads an answer that was sent as one JSON value.
func (r reading) readBody(in io.Reader) (done bool, err error) {
	data, err := io.ReadAll(io.LimitReader(in, maxEvent+1))
	if err != nil {
		return false, r.broken(err)
	}
	if len(data) > maxEvent {
		return false, model.Errorf(model.ErrWire, "can't read the server's answer: %w", errEventTooLong)
	}
	return true, r.Body(data)
}

// broken returns the error for a body that could not be read to its end. Timeouts and cancellations are returned
// unchanged.
func (r reading) broken(err error) error {
	var known *model.Error
	if errors.As(err, &known) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return model.Errorf(model.ErrCut, "answer cut off%s: %w", r.said(), err)
}

// said returns the part of an error text that says whether something was emitted.
func (r reading) said() string {
	if r.out.begun {
		return " after part of it arrived"
	}
	return ""
}

// patience cancels a request whose server is silent. Its timer runs until the first byte, and then only while a read
// waits, because the consumer of the events may be slow.
type patience struct {
	cancel context.CancelCauseFunc
	timer  *time.Timer
	wait   atomic.Int64 // the timer's duration, for the message
	heard  bool
	next   time.Duration
}

// newPatience returns a context that ends after silence: for first until the first byte, and for next between two
// bytes.
func newPatience(ctx context.Context, first, next time.Duration) (context.Context, *patience) {
	ctx, cancel := context.WithCancelCause(ctx)
	p := &patience{cancel: cancel, next: next}
	p.wait.Store(int64(first))
	p.timer = time.AfterFunc(first, func() {
		cancel(model.Errorf(model.ErrTimeout, "the server sent nothing for %v", time.Duration(p.wait.Load())))
	})
	return ctx, p
}

func (p *patience) stop() {
	p.timer.Stop()
	p.cancel(nil)
}

// body reads an answer with the timer of patience.
type body struct {
	io.Reader
	ctx context.Context
	p   *patience
}

func (b body) Read(buf []byte) (int, error) {
	if b.p.heard {
		b.p.timer.Reset(b.p.next)
	}
	n, err := b.Reader.Read(buf)
	if n > 0 {
		b.p.heard = true
		b.p.wait.Store(int64(b.p.next))
		b.p.timer.Stop()
	}
	if err != nil && err != io.EOF {
		if cause := context.Cause(b.ctx); cause != nil {
			err = cause
		}
	}
	return n, err
}
