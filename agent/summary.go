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
	promptShare   = 8    // the prompts that are kept may take an eighth,
	mostPrompts   = 20_000
	leastPrompt   = 600 // within these limits, in tokens
	summaryTries  = 4   // each with fewer of the oldest turns, if the server rejects the request as too long
	bytesOfTokens = 3   // lower bound of bytes per token
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
	focusText = "\nThe user asks to keep in particular: "
	onlyText  = "\nYour last answer to this had only calls, which were not executed. Tools can't be used here: write " +
		"the summary as text."

	compactedText = "This conversation was compacted: a summary replaces its older part."
	promptsIntro  = "\n\nThe user's prompts so far, in their own words:"
	promptQuote   = "\n\n<prompt>\n%s\n</prompt>"
	summaryIntro  = "Your summary of the work so far:\n"
	summaryEnd    = "\n\nContinue the task. The last turns before the summary follow, if any."
)

// recent returns where the last turns of a history start: the last answer of the model with all that follows, and as
// many turns before it as fit into a share of the window and of the history. A call and its response are never
// separated.
func recent(history []model.Message, window int) int {
	at := len(history)
	for at > 0 && (at == len(history) || history[at].Role != model.Assistant) {
		at--
	}
	budget := EstimateTokens(history) * 3 / 10
	if window > 0 {
		budget = min(budget, window/lastShare)
	}
	budget -= EstimateTokens(history[at:])
	for at > 0 {
		start := at - 1
		for start > 0 && history[start].Role == model.Tool {
			start--
		}
		if budget -= EstimateTokens(history[start:at]); budget < 0 {
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
	if tail := EstimateTokens(out[last:]); window > 0 && tail > window/2 {
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
	focus string, out *Answer) (text string, fallback, err error) {
	ask := summaryText
	if focus != "" {
		ask += focusText + focus
	}
	if w.Summary != nil {
		m, err := w.Summary(ctx)
		if err == nil {
			if text, err = a.summaryBy(ctx, m, ask, history, tools, out); err == nil || ctx.Err() != nil {
				return text, nil, err
			}
		}
		fallback = err
	}
	for {
		text, err = a.summaryBy(ctx, a.settings().model, ask, history, tools, out)
		if err == nil || !a.substitute(ctx, err) {
			return text, fallback, err
		}
	}
}

// errOnlyCalls reports an answer with calls in place of a summary.
var errOnlyCalls = errors.New("called tools in place of writing a summary")

// summaryBy asks a model. If the server rejects the request as too long, the older half of the turns is omitted. A
// model that answers with calls is asked again.
func (a *Agent) summaryBy(ctx context.Context, m model.Model, ask string, history []model.Message,
	tools []tool.Declaration, out *Answer) (text string, err error) {
	start := time.Now()
	defer func() { out.ModelTime += time.Since(start) }()
	question := ask
	for range summaryTries {
		text, err = a.askForSummary(ctx, m, append(slices.Clone(history), model.Prompt(question)), tools, out)
		switch {
		case errors.Is(err, model.ErrContextLength) && len(history) >= 3:
			history = newerHalf(history)
		case errors.Is(err, errOnlyCalls) && question == ask:
			question = ask + onlyText
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

// summarized returns the history after a summary: a message with it, the user's prompts and other kept texts, and the
// last turns. It also returns the prompts that are still verbatim in it.
func (a *Agent) summarized(old, lean []model.Message, cut int, summary string, window int) ([]model.Message,
	[][]model.Part, error) {
	if window <= 0 {
		window = EstimateTokens(old)
	}
	room := max(leastPrompt, min(mostPrompts, window/promptShare))
	prompts, said, media := quoted(a.said(), old[cut:], room)
	text := compactedText
	if a.o.Past != "" {
		text += " " + a.o.Past
	}
	text += said
	if a.o.Kept != nil {
		for _, kept := range a.o.Kept(a.o.Path) {
			text += "\n\n" + tool.Cut(kept, room*bytesOfTokens)
		}
	}
	parts := append([]model.Part{model.Text(text)}, media...)
	parts = append(parts, model.Text(summaryIntro+summary+summaryEnd))
	next := append([]model.Message{{Role: model.User, Parts: parts}}, lean[cut:]...)
	if now, was := EstimateTokens(next), EstimateTokens(old); now >= was {
		return nil, nil, fmt.Errorf("the summary is longer than what it replaces (%s instead of %s tokens)",
			humanize.Number(now), humanize.Number(was))
	}
	return next, prompts, nil
}

// quoted returns the prompts that stay, a text with those that the last turns don't have, and their images. The first
// one stays, then as many as fit into room tokens from the newest back. The first and the newest are truncated if
// they don't fit.
func quoted(prompts [][]model.Part, last []model.Message, room int) (stay [][]model.Part, text string,
	media []model.Part) {
	texts := make([]string, len(prompts)) // as they are quoted; "": not at all
	stays := make([]bool, len(prompts))
	left, newest, omitted := room, len(prompts)-1, 0
	for n := range prompts {
		at := (newest + 1 - n) % (newest + 1) // the first, then from the newest back
		said, images := words(prompts[at])
		stays[at] = slices.ContainsFunc(last, func(m model.Message) bool {
			now, _ := words(m.Parts)
			return m.Role == model.User && now == said
		})
		if stays[at] {
			continue
		}
		need := TextTokens(said) + partTokens
		if need > left && (at == 0 || at == newest) {
			said, need = tool.Cut(said, left*bytesOfTokens/2), left/2
		}
		if need > left {
			omitted++
			continue
		}
		left -= need
		stays[at], texts[at] = true, fmt.Sprintf(promptQuote, said)
		for _, p := range images {
			if left >= mediaTokens {
				media, left = append(media, p), left-mediaTokens
			}
		}
	}
	for at, p := range prompts {
		if text += texts[at]; stays[at] {
			stay = append(stay, p)
		}
	}
	if text != "" {
		text = promptsIntro + text
	}
	if omitted > 0 {
		text += fmt.Sprintf("\n\n[%s left out]", humanize.Count(omitted, "older prompt"))
	}
	return stay, text, media
}

// words returns the text of a prompt, without attached files, and its images.
func words(prompt []model.Part) (string, []model.Part) {
	var text []string
	var images []model.Part
	for _, p := range prompt {
		switch p := p.(type) {
		case model.Text:
			if n := utf8.RuneCountInString(string(p)); n > bulky && len(text) > 0 {
				p = model.Text(fmt.Sprintf("[Attachment of %s characters omitted]", humanize.Number(n)))
			}
			text = append(text, string(p))
		case model.Media:
			if strings.HasPrefix(p.MIMEType, "image/") {
				images = append(images, p)
			}
		}
	}
	return strings.Join(text, "\n"), images
}
