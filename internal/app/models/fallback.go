package models

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// maxRest is the longest time that a model which failed isn't asked.
const maxRest = time.Hour

// rests are the models that failed and aren't asked for a while.
type rests struct {
	mu   sync.Mutex
	all  map[string]rest // by name
	told map[string]bool // models whose host the user knows
}

type rest struct {
	until time.Time
	long  time.Duration
}

// begin makes a model rest: for a time, or twice as long as the last time if that is longer.
func (r *rests) begin(name string, now time.Time, least time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	long := min(max(least, 2*r.all[name].long), maxRest)
	r.all[name] = rest{now.Add(long), long}
}

func (r *rests) has(name string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return now.Before(r.all[name].until)
}

// first reports whether the user learns of a fallback for the first time.
func (r *rests) first(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer func() { r.told[name] = true }()
	return !r.told[name]
}

// fails reports whether another model may answer after an error: the server is busy or broken, or has given enough. A
// fallback may also lack a key, or not exist.
func fails(err error, fallback bool) bool {
	kinds := []model.Kind{model.ErrRateLimit, model.ErrQuota, model.ErrServer}
	if fallback {
		kinds = append(kinds, model.ErrCredentials, model.ErrUnknownModel)
	}
	return slices.ContainsFunc(kinds, func(k model.Kind) bool { return errors.Is(err, k) })
}

// Substitute returns the model to ask in place of one that an agent should use: that one unless it rests, or else the
// first of its fallbacks that doesn't rest. With an error of the model that was asked, that one rests from now on. It
// returns nil if no other model can answer.
func (m *Models) Substitute(ctx context.Context, wanted, asked model.Model, failed error) model.Model {
	names, now := m.settings.Model.FallbacksOf(wanted.Name()), m.env.Time()
	wait := m.settings.Model.Wait()
	if len(names) == 0 || failed != nil && !fails(failed, asked.Name() != wanted.Name()) {
		return nil
	}
	if failed != nil {
		m.rests.begin(asked.Name(), now, wait)
	}
	if !m.rests.has(wanted.Name(), now) {
		return wanted
	}
	for _, name := range names {
		if name == wanted.Name() || m.rests.has(name, now) {
			continue
		}
		next, err := m.other(ctx, name)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			m.rests.begin(name, now, maxRest)
			m.env.Warn("model.fallbacks: %s can't be used: %v", tool.Visible(name), err)
			continue
		}
		if m.rests.first(name) {
			cause := wanted.Name() + " failed before" // for another agent
			if failed != nil {
				cause = asked.Name() + " failed: " + strings.SplitN(failed.Error(), "\n", 2)[0]
			}
			m.env.Notice(fmt.Sprintf("%s\nThe conversation continues with %s at %s. %s is asked again in %s.",
				tool.Visible(cause), tool.Visible(name), next.where.URL, tool.Visible(wanted.Name()),
				humanize.Wait(wait)))
		}
		return next
	}
	if failed == nil {
		return wanted
	}
	return nil
}
