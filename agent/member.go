package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// member is one subagent and its task.
type member struct {
	crew     *Crew
	role     Role
	task     Task
	name     string // "explore-2"
	path     string // "general-purpose-1/explore-2"
	depth    int    // 1 for a subagent of the first agent
	model    model.Model
	effort   string
	executor *tool.Executor
	unknown  []string // unknown tools that its definition names

	// Its progress so far; owned by the working goroutine.
	calls   []TaskCall
	count   int      // of all calls
	changed []string // paths of files
	answer  Answer
}

// work runs the task. show, if not nil, receives displays of the progress.
func (m *member) work(ctx context.Context, show func(tool.Display)) (tool.Result, error) {
	slot := m.crew.slots[m.depth-1]
	select {
	case slot <- struct{}{}:
		defer func() { <-slot }()
	case <-ctx.Done():
		return tool.Result{}, ctx.Err()
	}
	o := m.crew.o
	base := ""
	if o.System != nil {
		base = o.System()
	}
	turns := o.Turns
	if m.role.Turns > 0 {
		turns = min(turns, m.role.Turns)
	}
	a := New(Options{
		Model: m.model, Executor: m.executor, System: m.role.system(base, m.name),
		Limits: Limits{Turns: turns, Wall: m.role.Wall},
		Budget: o.Budget, MaxTokens: o.MaxTokens, Effort: m.effort, CacheKey: cacheKey(o.CacheKey, m.path),
		Catalog: o.Catalog, Path: m.path,
		Window: o.Window, Dialect: o.Dialect, Unattended: true, Past: o.Past, Kept: o.Kept, Substitute: o.Substitute,
		Observe: func(e Event) {
			if m.note(e) && show != nil {
				show(m.display(statusRunning, ""))
			}
			if o.Observe != nil {
				o.Observe(m.about(), e)
			}
		},
	})
	defer o.Catalog.leave(m.path)
	var err error
	prompt := m.task.Prompt
	if o.Started != nil {
		prompt = strings.Join(append([]string{prompt}, o.Started(ctx, m.about())...), "\n\n")
	}
	m.answer, err = a.Run(ctx, model.Text(prompt))
	if o.Finished != nil {
		o.Finished(ctx, m.about(), m.answer)
	}
	return m.result(err)
}

// about returns the subagent's description.
func (m *member) about() Member {
	return Member{m.path, m.role.Name, m.task.Description, m.task.Live.Call}
}

// cacheKey returns the key of a subagent's conversation, no longer than servers accept (64 characters).
func cacheKey(key, path string) string {
	if key == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(key + "/" + path))
	return hex.EncodeToString(sum[:16])
}

// note records an event, and reports whether the display changed.
func (m *member) note(e Event) bool {
	switch e := e.(type) {
	case Called:
		m.count++
		m.calls = append(m.calls, TaskCall{CallID: e.ID, Name: e.Name, Status: "executing"})
		if over := len(m.calls) - maxShownCalls; over > 0 {
			m.calls = slices.Clone(m.calls[over:]) // displays keep the old slice
		}
	case Answered:
		m.answer.Turns++
		m.answer.Usage = m.answer.Usage.Plus(e.Usage)
	case Responded:
		m.calls = slices.Clone(m.calls)
		for _, o := range e.Outcomes {
			m.ended(o)
		}
	default:
		return false
	}
	return true
}

// ended records the outcome of a call.
func (m *member) ended(o tool.Outcome) {
	for i := range m.calls {
		if m.calls[i].CallID == o.Call.ID {
			m.calls[i].Status = string(o.Status)
			if o.Error != nil {
				m.calls[i].Error = short(strings.ReplaceAll(o.Error.Message, "\n", ". "), 200)
			}
		}
	}
	d, ok := o.Result.Display.(tool.FileDiff)
	if !ok || o.Status != tool.StatusSuccess || d.Diff == "" {
		return
	}
	paths := []string{d.Path}
	if d.Path == "" { // several files
		paths = o.Changes.Kept()
	}
	for _, path := range paths {
		if !slices.Contains(m.changed, path) {
			m.changed = append(m.changed, path)
		}
	}
}

// result returns the report: the last message, and counts.
func (m *member) result(err error) (tool.Result, error) {
	text := strings.TrimSpace(m.answer.Text)
	if text == "" {
		text = "(the subagent returned no text)"
	}
	if r := m.answer.Reason; err == nil && (r == model.Length || r == model.Filter) {
		text += fmt.Sprintf("\n\n(The report is incomplete: the model stopped with reason %q.)", m.answer.Reason)
	}
	if len(m.unknown) > 0 {
		text += "\n\n(Its definition names unknown tools: " + short(strings.Join(m.unknown, ", "), 300) + ".)"
	}
	text += "\n\n[" + m.name + ": " + m.counts() + "]"
	status := statusCompleted
	switch {
	case errors.Is(err, context.Canceled):
		status = statusCancelled
	case err != nil:
		status = statusFailed
		err = fmt.Errorf("task: subagent %s failed: %w", m.name, err)
	}
	return tool.Result{Content: []tool.Part{tool.Text(text)}, Display: m.display(status, m.answer.Text)}, err
}

// maxNamedFiles is how many changed files a report names.
const maxNamedFiles = 20

func (m *member) counts() string {
	s := fmt.Sprintf("%s, %s, %s tokens", humanize.Count(m.answer.Turns, "turn"), humanize.Count(m.count, "call"),
		humanize.Number(m.answer.Usage.Total()))
	switch n := len(m.changed); {
	case n > maxNamedFiles:
		s += fmt.Sprintf("; edited %d files: %s and others", n, strings.Join(m.changed[:maxNamedFiles], ", "))
	case n > 0:
		s += "; edited " + strings.Join(m.changed, ", ")
	default:
		s += "; no files edited"
	}
	return s
}

// short returns a text as one line of at most n characters.
func short(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + " …"
	}
	return s
}

// ids are the IDs of the session's calls. Servers don't keep them unique: some number from call_0 in each answer, some
// send none.
type ids struct{ used map[string]bool }

// unique returns the server's ID if it is new, else one made of turn and index. It has nine letters and digits because
// some servers accept nothing else.
func (s *ids) unique(id string, turn, index int) string {
	for n := index; id == "" || s.used[id]; n += 100 {
		id = fmt.Sprintf("t%05dc%02d", turn, n)
	}
	s.used[id] = true
	return id
}

// add records the IDs of a continued conversation.
func (s *ids) add(history []model.Message) {
	for _, m := range history {
		for _, c := range m.Calls() {
			s.used[c.ID] = true
		}
	}
}
