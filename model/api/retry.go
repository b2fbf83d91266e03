package api

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Retry configures how often a request is sent again, and how long to wait. A request is sent again only while nothing
// of its answer was emitted: otherwise text would be repeated, and a call might run twice.
//
// A busy server (429, 503, 529, or any failure with Retry-After) is tried again until Budget is spent, with any number
// of attempts. Other failures are retried Times times.
type Retry struct {
	Times   int           // after the first attempt; 0 is 6, <0 turns all retries off
	Most    int           // retries for any reason; 0: no limit
	First   time.Duration // the first wait, doubled for each further one; 0 is 500 ms
	Longest time.Duration // the longest wait, unless Retry-After asks for more; 0 is 60 s
	Budget  time.Duration // all waits of one request together, and the longest Retry-After; 0 is 10 min
}

func (r Retry) orDefault() Retry {
	if r.Times == 0 {
		r.Times = 6
	}
	if r.First <= 0 {
		r.First = 500 * time.Millisecond
	}
	if r.Longest <= 0 {
		r.Longest = time.Minute
	}
	if r.Budget <= 0 {
		r.Budget = 10 * time.Minute
	}
	return r
}

// retries counts how much of its Retry a request has used.
type retries struct {
	Retry
	attempts int // that failed
	plain    int // attempts that failed for another reason than a busy server
	waited   time.Duration
}

// next records a failed attempt and returns how long to wait before the next one, or false after the last one: then
// f.Err says why. Waits are randomized over their second half, so that many clients don't retry at once.
func (r *retries) next(f *Failure) (time.Duration, bool) {
	r.attempts++
	busy := f.busy || f.after > 0
	if !busy {
		r.plain++
	}
	if !f.again || r.Times < 0 || f.quick && r.attempts > 1 || r.plain > r.Times || r.Most > 0 && r.attempts > r.Most {
		return 0, false
	}
	if f.after > r.Budget {
		f.Err = withNextStep(f.Err, fmt.Sprintf("The server asks to wait %v, longer than the limit of %v. Run again "+
			"later, or use another model.",
			f.after.Round(time.Second), r.Budget))
		return 0, false
	}
	wait := f.after
	if wait == 0 {
		d := r.Longest
		if r.attempts <= 16 {
			d = min(d, r.First<<(r.attempts-1))
		}
		wait = d/2 + rand.N(d/2+1)
	}
	if r.waited+wait > r.Budget {
		f.Err = withNextStep(f.Err, fmt.Sprintf("Gave up after %d attempts in %v. Run again later, or use "+
			"another model.",
			r.attempts, r.waited.Round(time.Second)))
		return 0, false
	}
	r.waited += wait
	return wait, true
}

// retryAfter reads how long the server asks to wait: seconds, or a date. OpenAI also sends milliseconds. A date is
// relative to the server's own clock, if it sends one.
func retryAfter(h http.Header, now time.Time) time.Duration {
	const limit = 1e6 // seconds; larger values would overflow
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return time.Duration(min(ms, limit*1000) * float64(time.Millisecond))
	}
	v := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(v, 64); err == nil {
		return time.Duration(min(max(s, 0), limit) * float64(time.Second))
	}
	if at, err := http.ParseTime(v); err == nil {
		if date, err := http.ParseTime(h.Get("Date")); err == nil {
			now = date
		}
		return max(at.Sub(now), 0)
	}
	return 0
}

// sleep waits unless ctx ends first.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// unwrapURL removes the method and URL from an error of net/http: our errors already name them.
func unwrapURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
