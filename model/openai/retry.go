package openai

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Retry says how often and how patiently a request is sent again. A request is sent again only while nothing of its
// answer was handed out: text would come twice, and a call might run twice.
type Retry struct {
	Times   int           // after the first attempt; 0 is 4, <0 none
	First   time.Duration // the first wait, doubled for each further one; 0 is 500 ms
	Longest time.Duration // the longest wait; 0 is 30 s. A server that wants a longer one is not asked again
}

func (r Retry) orDefault() Retry {
	if r.Times == 0 {
		r.Times = 4
	}
	if r.First <= 0 {
		r.First = 500 * time.Millisecond
	}
	if r.Longest <= 0 {
		r.Longest = 30 * time.Second
	}
	return r
}

// wait says how long to wait after the n-th failed attempt, counted from 1, and whether to try again at all. Waits
// are spread over their second half, so that many clients do not come back at once.
func (r Retry) wait(n int, f *failure) (time.Duration, bool) {
	if !f.again || n > r.Times || f.quick && n > 1 {
		return 0, false
	}
	if f.after > 0 {
		return f.after, f.after <= r.Longest
	}
	d := r.Longest
	if n <= 16 {
		d = min(d, r.First<<(n-1))
	}
	return d/2 + rand.N(d/2+1), true
}

// retryAfter reads the server's wish: seconds, or a date. OpenAI also sends milliseconds.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	v := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(v, 64); err == nil {
		const most = 1e6 // seconds; more would overflow, and no one waits for it
		return time.Duration(min(max(s, 0), most) * float64(time.Second))
	}
	if at, err := http.ParseTime(v); err == nil {
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

// unwrapURL takes the method and URL off an error of net/http: ours name them already.
func unwrapURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
