package session

import (
	"context"
	"errors"
	"strings"

	"github.com/adze-dev/adze/discover"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// maxSampledText is how much of an answer a server is given, whatever the model makes of its limit.
const maxSampledText = 256 << 10

// sample lets the session's model answer a server: without tools, and without a word of the conversation.
func (m *Models) sample(ctx context.Context, in discover.Sampling) (discover.Sampled, error) {
	request := model.Request{System: in.System, MaxTokens: int(in.MaxTokens)}
	for _, said := range in.Messages {
		role := model.User
		if said.Role == string(model.Assistant) {
			role = model.Assistant
		}
		var part model.Part
		switch c := said.Content.(type) {
		case tool.Text:
			part = model.Text(c)
		case tool.Media:
			part = model.Media{Media: c}
		}
		request.Messages = append(request.Messages, model.Message{Role: role, Parts: []model.Part{part}})
	}
	if len(request.Messages) == 0 {
		return discover.Sampled{}, errors.New("no messages to answer")
	}
	main, err := m.current()
	if err != nil {
		return discover.Sampled{}, err
	}
	budget := m.spending()
	if err := budget.Left(); err != nil {
		return discover.Sampled{}, err
	}
	var used model.Usage
	defer func() { _ = budget.Spend(used) }() // the next request fails if it was too much
	out := discover.Sampled{Model: main.Name()}
	var text strings.Builder
	for e, err := range main.Stream(ctx, request) {
		if err != nil {
			return discover.Sampled{}, err
		}
		switch e := e.(type) {
		case model.Text:
			text.WriteString(string(e))
		case model.Usage:
			used = e
		case model.End:
			if e.Reason == model.Length {
				out.StopReason = "maxTokens"
			}
		}
		if text.Len() > maxSampledText {
			out.StopReason = "maxTokens"
			break
		}
	}
	out.Text = strings.ToValidUTF8(text.String()[:min(text.Len(), maxSampledText)], "")
	for _, stop := range in.Stop {
		if before, _, found := strings.Cut(out.Text, stop); found && stop != "" {
			out.Text, out.StopReason = before, "stopSequence"
		}
	}
	return out, nil
}
