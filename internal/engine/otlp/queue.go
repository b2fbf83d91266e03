package otlp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

const (
	maxWaiting = 4 << 20         // bytes of spans that wait for the collector; more are dropped
	maxMetrics = 500             // names of tools and models come from servers too
	pause      = 5 * time.Second // between two requests
	exitTime   = time.Second     // of Close
)

// Queue sends spans and metrics in the background. Nothing waits for the collector, and what it doesn't take in time is
// dropped. A nil Queue drops everything.
type Queue struct {
	x       *Exporter
	warn    func(error)
	ctx     context.Context
	cancel  context.CancelFunc
	closing chan struct{}
	done    chan struct{}
	warned  bool

	mu      sync.Mutex
	spans   []json.RawMessage
	bytes   int                // of the spans, and of those that are being sent
	metrics map[string]*metric // by name and attributes
	changed bool               // a metric has changed
}

// NewQueue returns a queue. warn gets the first failure.
func NewQueue(x *Exporter, warn func(error)) *Queue {
	q := &Queue{
		x: x, warn: warn, closing: make(chan struct{}), done: make(chan struct{}), metrics: map[string]*metric{},
	}
	q.ctx, q.cancel = context.WithCancel(context.Background())
	go q.run(time.NewTicker(pause))
	return q
}

func (q *Queue) run(tick *time.Ticker) {
	defer close(q.done)
	defer tick.Stop()
	for open := true; open; q.send() {
		select {
		case <-tick.C:
		case <-q.closing:
			open = false
		}
	}
}

// Close sends the rest, for a second at most.
func (q *Queue) Close() {
	if q == nil {
		return
	}
	defer time.AfterFunc(exitTime, q.cancel).Stop()
	defer q.cancel()
	close(q.closing)
	<-q.done
}

// send sends what waits.
func (q *Queue) send() {
	q.mu.Lock()
	spans, bytes, measured := q.spans, q.bytes, json.RawMessage(nil)
	if q.changed {
		measured, _ = json.Marshal(slices.Collect(maps.Values(q.metrics))) // numbers are finite
	}
	q.spans, q.changed = nil, false
	q.mu.Unlock()
	var again, stale bool
	var failed, err error
	if len(spans) > 0 {
		again, failed = q.x.post(q.ctx, "/v1/traces", "Spans", spans)
	}
	if measured != nil && !again {
		stale, err = q.x.post(q.ctx, "/v1/metrics", "Metrics", measured)
	}
	q.mu.Lock()
	q.changed = q.changed || stale || again && measured != nil
	if again {
		q.spans = append(spans, q.spans...)
	} else {
		q.bytes -= bytes
	}
	q.mu.Unlock()
	if failed = errors.Join(failed, err); failed != nil && !q.warned {
		q.warned = true
		if q.ctx.Err() != nil {
			failed = fmt.Errorf("the collector didn't answer within %s", exitTime)
		}
		q.warn(failed)
	}
}

// Add sends a span that has ended.
func (q *Queue) Add(s *Span) {
	if q == nil {
		return
	}
	raw, _ := json.Marshal(s) // numbers are finite
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.bytes+len(raw) <= maxWaiting {
		q.spans, q.bytes = append(q.spans, raw), q.bytes+len(raw)
	}
}

// metric is a metric with the values of the same attributes, since the queue was opened.
type metric struct {
	Name      string `json:"name"`
	Unit      string `json:"unit"`
	Sum       *data  `json:"sum,omitempty"`
	Histogram *data  `json:"histogram,omitempty"`
	point     *point
}

type data struct {
	Temporality int       `json:"aggregationTemporality"`
	Monotonic   bool      `json:"isMonotonic,omitempty"`
	Points      [1]*point `json:"dataPoints"`
}

// point has the values. Of a sum, it has only Value.
type point struct {
	Attributes Pairs     `json:"attributes"`
	Began      int64     `json:"startTimeUnixNano,string"`
	Now        int64     `json:"timeUnixNano,string"`
	Value      float64   `json:"asDouble,omitempty"`
	Count      int       `json:"count,string,omitempty"`
	Sum        float64   `json:"sum,omitempty"`
	Bounds     []float64 `json:"explicitBounds,omitempty"`
	Buckets    []int     `json:"bucketCounts,omitempty"`
}

// Record adds a value to a histogram with these upper bounds; without bounds, to a sum that only grows.
func (q *Queue) Record(name, unit string, bounds []float64, n float64, attributes ...any) {
	if q == nil || bounds == nil && n == 0 {
		return
	}
	key, _ := json.Marshal(Pairs(attributes))
	now := time.Now().UnixNano()
	q.mu.Lock()
	defer q.mu.Unlock()
	m := q.metrics[name+string(key)]
	switch {
	case m == nil && len(q.metrics) >= maxMetrics:
		return
	case m == nil:
		p := &point{Attributes: attributes, Began: now, Bounds: bounds}
		m = &metric{Name: name, Unit: unit, point: p}
		if bounds == nil {
			m.Sum = &data{cumulative, true, [1]*point{p}}
		} else {
			p.Buckets = make([]int, len(bounds)+1)
			m.Histogram = &data{cumulative, false, [1]*point{p}}
		}
		q.metrics[name+string(key)] = m
	}
	p := m.point
	p.Now, q.changed = now, true
	if bounds == nil {
		p.Value += n
		return
	}
	i, _ := slices.BinarySearch(bounds, n)
	p.Buckets[i]++
	p.Count, p.Sum = p.Count+1, p.Sum+n
}
