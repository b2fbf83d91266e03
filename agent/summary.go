package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

const (
	bulky         = 1000 // characters of a result that is moved to a file
	lastShare     = 5    // the last turns keep a fifth of the window
	summaryShare  = 16   // a summary may take a sixteenth of the window
	promptShare   = 16   // so may the prompts that are kept
	leastPrompt   = 2000 // characters of prompts that are kept in any window
	summaryTries  = 4    // each with fewer of the oldest turns, if the server rejects the request as too long
	bytesOfTokens = 3    // lower bound of bytes per token
)

const (
	summaryText = "Your context window is nearly full. Write a summary that will replace this conversation, except " +
		"for its last turns. " +
		"You continue the work with the summary alone, so include everything you still need:\n" +
		"- Task: what the user asked for, with all requirements and constraints\n" +
		"- Decisions: what was decided or found out, and why\n" +
		"- Done: what is finished, and what failed\n" +
		"- To do: the open steps, in order\n" +
		"- Paths: files, commands, names, values, and saved results that matter\n" +
		"Reply with the summary only, as plain text. Don't call tools."
	onlyText = "\nYour last answer to this had only calls, which were not executed. Tools can't be used here: write " +
		"the summary as text."

	compactedText = "This conversation was compacted: a summary replaces its older part."
	firstPrompt   = "\n\nThe user's first prompt:\n"
	latestPrompt  = "\n\nThe user's latest prompt:\n"
	summaryIntro  = "\n\nYour summary of the work so far:\n"
	summaryEnd    = "\n\nContinue the task. The last turns before the summary follow, if any."
)

// asked is a prompt, and where the history has it.
type asked struct {
	parts []model.Part
	at    int // position in the history; below the start of the last turns, only the summary has it
}

// recent returns where the last turns of a history start: the last answer of the model with all that follows, and as
// many turns before it as fit into a share of the window and of the history. A call and its response are never
// separated.
func recent(history []model.Message, window int) int {
	at := len(history)
	for at > 0 && (at == len(history) || history[at].Role != model.Assistant) {
		at--
	}
	budget := estimateAll(history) * 3 / 10
	if window > 0 {
		budget = min(budget, window/lastShare)
	}
	budget -= estimateAll(history[at:])
	for at > 0 {
		start := at - 1
		for start > 0 && history[start].Role == model.Tool {
			start--
		}
		if budget -= estimateAll(history[start:at]); budget < 0 {
			break
		}
		at = start
	}
	return at
}

// withoutBulk returns the history with a line in place of each bulky result before the last turns, and how many there
// are. A result that can't be saved stays. If the last turns alone fill half of the window, their results are
// truncated.
func (a *Agent) withoutBulk(history []model.Message, last, window int) ([]model.Message, int) {
	out := slices.Clone(history)
	n := 0
	for i, m := range out[:last] {
		out[i] = a.eachResponse(m, &n, a.asPath)
	}
	if tail := estimateAll(out[last:]); window > 0 && tail > window/2 {
		responses := 0
		for _, m := range out[last:] {
			responses += len(m.Calls())
		}
		limit := window / 2 * bytesOfTokens / max(responses, 1)
		for i, m := range out[last:] {
			out[last+i] = a.eachResponse(m, &n,
				func(r model.Response) (model.Response, bool) { return a.truncated(r, limit) })
		}
	}
	return out, n
}

// eachResponse returns a message with other responses. It counts those that changed.
func (a *Agent) eachResponse(m model.Message, n *int,
	change func(model.Response) (model.Response, bool)) model.Message {
	if m.Role != model.Tool {
		return m
	}
	parts := slices.Clone(m.Parts)
	for i, p := range parts {
		if r, ok := p.(model.Response); ok {
			if r, ok = change(r); ok {
				parts[i] = r
				*n++
			}
		}
	}
	m.Parts = parts
	return m
}

// asPath returns a line with the path of a file in place of a bulky result.
func (a *Agent) asPath(r model.Response) (model.Response, bool) {
	text, media := r.Text(), hasMedia(r.Content)
	chars := utf8.RuneCountInString(text)
	if chars <= bulky && !media {
		return r, false
	}
	note := fmt.Sprintf("[Result removed to save context (%s characters).", humanize.Number(chars))
	if chars > bulky {
		path, ok := a.keep(r, text)
		if !ok {
			return r, false
		}
		note += " It is saved in " + path + ": read it if you need it again."
	}
	if media {
		note += " Its images were removed: make the call again if you need them."
	}
	r.Content = []tool.Part{tool.Text(note + "]")}
	return r, true
}

// truncated returns a result with the start and the end of its text, and the path of a file that has it.
func (a *Agent) truncated(r model.Response, limit int) (model.Response, bool) {
	text := r.Text()
	if len(text) <= max(limit, bulky) || hasMedia(r.Content) {
		return r, false
	}
	path, ok := a.keep(r, text)
	if !ok {
		return r, false
	}
	header := fmt.Sprintf("Output truncated to fit into the context window (%s characters). Full output: %s. Showing "+
		"the start and the end:\n\n",
		humanize.Number(utf8.RuneCountInString(text)), path)
	r.Content = []tool.Part{tool.Text(header + tool.Cut(text, max(limit, bulky)-len(header)))}
	return r, true
}

// keep returns the path of a file with the full result: that which the executor saved, or a new one.
func (a *Agent) keep(r model.Response, text string) (string, bool) {
	a.mu.Lock()
	paths := a.saved[r.ID]
	a.mu.Unlock()
	if len(paths) > 0 {
		return strings.Join(paths, ", "), true
	}
	if a.o.Executor.Spill == nil {
		return "", false
	}
	saved, err := a.o.Executor.Spill(tool.Call{ID: r.ID, Name: r.Name, By: a.o.Path}, text)
	return saved.Path, err == nil && saved.Dropped == 0
}

func hasMedia(content []tool.Part) bool {
	return slices.ContainsFunc(content, func(p tool.Part) bool { _, ok := p.(tool.Media); return ok })
}

// summarize asks for a summary of the conversation: the model for summaries and, if that fails, the agent's own.
// fallback is why the first one failed.
func (a *Agent) summarize(ctx context.Context, w Window, history []model.Message, tools []tool.Declaration,
	out *Answer) (text string, fallback, err error) {
	if w.Summary != nil {
		m, err := w.Summary(ctx)
		if err == nil {
			if text, err = a.summaryBy(ctx, m, history, tools, out); err == nil || ctx.Err() != nil {
				return text, nil, err
			}
		}
		fallback = err
	}
	text, err = a.summaryBy(ctx, a.settings().model, history, tools, out)
	return text, fallback, err
}

// errOnlyCalls reports an answer with calls in place of a summary.
var errOnlyCalls = errors.New("called tools in place of writing a summary")

// summaryBy asks a model. If the server rejects the request as too long, the older half of the turns is omitted. A
// model that answers with calls is asked again.
func (a *Agent) summaryBy(ctx context.Context, m model.Model, history []model.Message, tools []tool.Declaration,
	out *Answer) (text string, err error) {
	start := time.Now()
	defer func() { out.ModelTime += time.Since(start) }()
	question := summaryText
	for range summaryTries {
		text, err = a.askForSummary(ctx, m, append(slices.Clone(history), model.Prompt(question)), tools, out)
		switch {
		case errors.Is(err, model.ErrContextLength) && len(history) >= 3:
			history = newerHalf(history)
		case errors.Is(err, errOnlyCalls) && question == summaryText:
			question = summaryText + onlyText
		default:
			return text, err
		}
	}
	return text, err
}

// newerHalf returns the first message and the newer half of the others, of at least two. A call and its response are
// never separated.
func newerHalf(history []model.Message) []model.Message {
	at := 1 + len(history[1:])/2
	for at < len(history)-1 && history[at].Role == model.Tool {
		at++
	}
	if history[at].Role == model.Tool { // the last answer: nothing can be omitted
		return history[:1]
	}
	return append(slices.Clone(history[:1]), history[at:]...)
}

// askForSummary sends the conversation as the next request would, so that the server has its start in the cache, with
// the question at its end. Calls in the answer are ignored.
func (a *Agent) askForSummary(ctx context.Context, m model.Model, messages []model.Message, tools []tool.Declaration,
	out *Answer) (string, error) {
	r := a.request(messages, tools)
	if m.Name() != a.settings().model.Name() {
		r.Effort, r.CacheKey = "", ""
	}
	var text strings.Builder
	var usage model.Usage
	var end *model.End
	calls := false
	for e, err := range m.Stream(ctx, r) {
		if err != nil {
			return "", err
		}
		switch e := e.(type) {
		case model.Text:
			text.WriteString(string(e))
		case model.Usage:
			usage = e
		case model.Call:
			calls = true
		case model.Retry:
			a.tell(Said{e})
		case model.End:
			end = &e
		}
	}
	out.Usage = out.Usage.Plus(usage)
	a.o.Budget.use(usage)
	summary := strings.TrimSpace(text.String())
	switch {
	case end == nil:
		return "", model.Errorf(model.ErrCut, "response from %s ended early", m.Name())
	case end.Reason == model.Filter:
		return "", fmt.Errorf("%s refused to write a summary", m.Name())
	case end.Reason == model.Length:
		return "", fmt.Errorf("the summary by %s was truncated at its length limit", m.Name())
	case summary == "" && calls:
		return "", fmt.Errorf("%s %w", m.Name(), errOnlyCalls)
	case summary == "":
		return "", fmt.Errorf("%s returned an empty summary", m.Name())
	}
	return summary, nil
}

// summarized returns the history after a summary: a message with it and the prompts, and the last turns.
func (a *Agent) summarized(old, lean []model.Message, cut int, summary string, window int) ([]model.Message, error) {
	room := leastPrompt
	if window > 0 {
		room = max(room, window/promptShare*bytesOfTokens)
	}
	var parts []model.Part
	text := compactedText
	add := func(title string, prompt []model.Part) {
		said, media := kept(prompt, room)
		text += title + said
		parts = append(parts, media...)
	}
	add(firstPrompt, a.first)
	if a.prompt.at < cut && !samePrompt(a.first, a.prompt.parts) {
		add(latestPrompt, a.prompt.parts)
	}
	parts = append([]model.Part{model.Text(text)}, parts...)
	parts = append(parts, model.Text(strings.TrimLeft(summaryIntro, "\n")+summary+summaryEnd))
	next := append([]model.Message{{Role: model.User, Parts: parts}}, lean[cut:]...)
	if now, was := estimateAll(next), estimateAll(old); now >= was {
		return nil, fmt.Errorf("the summary is longer than what it replaces (%s instead of %s tokens)",
			humanize.Number(now), humanize.Number(was))
	}
	return next, nil
}

// kept returns what stays of a prompt: its text up to a length, and its first images.
func kept(prompt []model.Part, limit int) (string, []model.Part) {
	const images = 3
	var text []string
	var media []model.Part
	for _, p := range prompt {
		switch p := p.(type) {
		case model.Text:
			text = append(text, string(p))
		case model.Media:
			if len(media) < images && strings.HasPrefix(p.MIMEType, "image/") {
				media = append(media, p)
			}
		}
	}
	return tool.Cut(strings.Join(text, "\n"), limit), media
}

func samePrompt(a, b []model.Part) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}
