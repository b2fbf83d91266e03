package session

import (
	"context"
	"fmt"

	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// PromptParts is a prompt with all that it names: files by @path, images by their labels, and resources by @server:uri. A resource is read because
// the user has named it, so only typed is looked through for them: the rest of text, which was piped in beside it, others
// may have written.
func (s *Session) PromptParts(ctx context.Context, text, typed string) ([]model.Part, error) {
	attached, err := s.attach(ctx, text)
	if err != nil {
		return nil, err
	}
	parts := append([]model.Part{model.Text(text)}, attached...)
	pictures, notes := s.images.in(typed)
	s.warnAll(notes)
	parts = append(parts, pictures...)
	return append(parts, s.attachResources(ctx, typed)...), nil
}

// attach reads the @paths of a prompt, as far as policy or the user lets them be read.
func (s *Session) attach(ctx context.Context, prompt string) ([]model.Part, error) {
	var allowed []builtin.Mention
	var left []string
	for _, m := range s.tools.Mentions(prompt) {
		why := ""
		switch {
		case m.Absent:
			why = "no such file"
		case m.Refused == nil:
			why = s.mayAttach(ctx, m)
		}
		if why != "" {
			left = append(left, fmt.Sprintf("%s was not attached: %s", tool.Visible(m.Text), why))
			continue
		}
		allowed = append(allowed, m)
	}
	content, notes, err := s.tools.Attach(ctx, allowed)
	if err != nil {
		return nil, err
	}
	s.warnAll(append(notes, left...))
	var parts []model.Part
	for _, p := range content {
		parts = append(parts, promptPart(p))
	}
	for _, l := range left {
		parts = append(parts, model.Text("("+l+")"))
	}
	return parts, nil
}

// mayAttach says why a mention must be left out; nothing if it need not be.
func (s *Session) mayAttach(ctx context.Context, m builtin.Mention) string {
	r := tool.Request{
		Declaration: tool.Declaration{Name: "@path", DisplayName: "Attach", Kind: tool.Read},
		Invocation:  tool.Invocation{Description: "attach " + m.Text, Access: []tool.Access{m.Access}},
	}
	d := s.Policy.Judge(r)
	if d.Verdict == tool.Ask {
		answer, err := s.Executor.Ask(ctx, r, d)
		if err != nil {
			return err.Error()
		}
		d = answer
	}
	if d.Verdict != tool.Allow {
		return "permission denied"
	}
	return ""
}
