package hook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/engine/humanize"
)

// post sends the input to an HTTP server, which answers like a command that exits with 0. Redirects are failures: they
// would lead around the check of the host.
func (r *Runner) post(ctx context.Context, in Input, h Hook) (printed, error) {
	to, err := url.Parse(h.URL)
	if err != nil {
		return printed{}, err
	}
	if !isLoopback(to.Hostname()) && (r.o.AllowHost == nil || !r.o.AllowHost(to.Host)) {
		return printed{}, fmt.Errorf("%s is not on this machine, and no allow rule names it: WebFetch(domain:%[1]s)",
			to.Host)
	}
	body, err := humanize.JSON(in)
	if err != nil {
		return printed{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, h.timeout())
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL, bytes.NewReader(body))
	if err != nil {
		return printed{}, err
	}
	q.Header.Set("Content-Type", "application/json")
	for name, value := range h.Headers {
		q.Header.Set(name, r.expand(value, h.HeaderEnv))
	}
	answer, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(q) // follows no redirects
	if err != nil {
		return printed{}, timedOut(ctx, h, err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxOutput+1))
	switch {
	case err != nil:
		return printed{}, timedOut(ctx, h, err)
	case len(text) > maxOutput:
		return printed{}, errors.New("its answer is longer than 1 MB")
	case answer.StatusCode/100 != 2:
		return printed{}, fmt.Errorf("status %d%s", answer.StatusCode, said(string(text)))
	}
	return printed{stdout: string(text)}, nil
}

// timedOut returns the error of a request.
func timedOut(ctx context.Context, h Hook, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("timed out after %s", h.timeout())
	}
	return err
}

// isLoopback reports whether a host is this machine.
func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && addr.Unmap().IsLoopback()
}

// expand replaces the allowed variables in a header's value. Others are empty.
func (r *Runner) expand(value string, allowed []string) string {
	env := r.o.Environ
	if env == nil {
		env = os.Environ()
	}
	return os.Expand(value, func(name string) string {
		i := slices.IndexFunc(env, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
		if i < 0 || !slices.Contains(allowed, name) {
			return ""
		}
		return env[i][len(name)+1:]
	})
}

const promptEnd = "\n\nReply with one JSON object and nothing else: {\"ok\": true}, or {\"ok\": false, " +
	"\"reason\": \"…\"}."

// prompt has the model answer a question about the input with yes or no. A no blocks, a yes approves nothing.
func (r *Runner) prompt(ctx context.Context, in Input, h Hook) (Output, Verdict, error) {
	if r.o.Ask == nil {
		return Output{}, None, errors.New("there is no model")
	}
	input, err := humanize.JSON(in)
	if err != nil {
		return Output{}, None, err
	}
	text := strings.ReplaceAll(h.Prompt, "$ARGUMENTS", string(input))
	if text == h.Prompt {
		text += "\n\n" + string(input)
	}
	ctx, cancel := context.WithTimeout(ctx, h.timeout())
	defer cancel()
	reply, err := r.o.Ask(ctx, text+promptEnd)
	if err != nil {
		return Output{}, None, timedOut(ctx, h, err)
	}
	var answer struct {
		OK      *bool  `json:"ok"`
		Reason  string `json:"reason"`
		Context string `json:"additionalContext"`
	}
	first, last := strings.Index(reply, "{"), strings.LastIndex(reply, "}")
	if first < 0 || last < first || json.Unmarshal([]byte(reply[first:last+1]), &answer) != nil || answer.OK == nil {
		return Output{}, None, fmt.Errorf("the model's answer has no \"ok\": %s", clip(oneLine(reply), 100))
	}
	if !*answer.OK {
		return Output{Reason: answer.Reason}, Deny, nil
	}
	return Output{Specific: &Specific{AdditionalContext: answer.Context}}, None, nil
}
