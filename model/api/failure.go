package api

import (
	"bufio"
	"cmp"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/adze-dev/adze/model"
)

// Failure is a failed attempt.
type Failure struct {
	Err     error
	Message string // of the server's error
	Code    string // of the server's error, such as "invalid_encrypted_content"
	Param   string // that the server rejects, such as "reasoning.effort"
	Note    error  // set by Exchange.Learn: a change of the request that the user should know

	again  bool          // the same request may succeed later
	quick  bool          // nothing listens: one more attempt is enough for a restart
	busy   bool          // the server is overloaded: it may take minutes
	after  time.Duration // how long the server asks to wait; 0: it doesn't
	prefix int           // index of the version path
	sent   []byte        // the body of the request
}

// Rejected reports whether the server rejected the content of the request, so that another request may succeed: status
// 400 or 422, and not because of its length.
func (f *Failure) Rejected() bool {
	var e *model.Error
	return errors.As(f.Err, &e) && e.Kind == model.ErrRejected &&
		(e.Status == http.StatusBadRequest || e.Status == http.StatusUnprocessableEntity)
}

// statusFailure returns the failure of a response that is not 200 OK.
func (c *Client) statusFailure(req string, resp *http.Response, now time.Time) *Failure {
	// the status alone is useful too
	body, _ := io.ReadAll(io.LimitReader(unzipped(bufio.NewReader(resp.Body)), 64<<10))
	e := readError(body)
	kind := kindOf(resp.StatusCode, e)
	f := &Failure{
		Message: e.Message, Code: Scalar(e.Code), Param: Scalar(e.Param),
		after: max(retryAfter(resp.Header, now), e.retryDelay()),
	}
	f.busy = isBusy(resp.StatusCode) && kind != model.ErrQuota
	f.again = f.busy || isTransient(resp.StatusCode) && kind != model.ErrContextLength
	said := cmp.Or(e.Message, http.StatusText(resp.StatusCode))
	if to := resp.Header.Get("Location"); to != "" && resp.StatusCode/100 == 3 {
		said = "redirect to " + to
	}
	failed := &model.Error{Kind: kind, Status: resp.StatusCode,
		Err: fmt.Errorf("%s: status %d: %s%s", req, resp.StatusCode, said, c.advice(resp.StatusCode, kind))}
	if kind == model.ErrCredentials && c.Options.Key != "" {
		failed.Server, failed.KeyName = c.base.Host, c.Options.KeyName
	}
	f.Err = failed
	return f
}

// aboutEffort returns the error, with the next step if the server rejected the effort.
func (f *Failure) aboutEffort(effort string) error {
	if effort == "" || !f.Rejected() || !strings.Contains(strings.ToLower(f.Message+" "+f.Param), "effort") {
		return f.Err
	}
	return withNextStep(f.Err, fmt.Sprintf("The model doesn't accept effort %q. Use another value for "+
		"--effort, or none.", effort))
}

// isTransient reports whether the same request may succeed after a failure with this status.
func isTransient(status int) bool {
	return status == http.StatusRequestTimeout || status == http.StatusTooEarly || status >= 500 &&
		status != http.StatusNotImplemented
}

// isBusy reports whether a status means that the server is overloaded: 429, 503, and 529, which several servers use.
func isBusy(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable || status == 529
}

// shorten is the next step for a conversation that is too long for the model.
const shorten = "The conversation exceeds the model's context window. Start a new session with a shorter prompt and " +
	"smaller tool " +
	"results, or use a model with a larger window. If the server limits the window, set " +
	"model.generationConfig.contextWindowSize."

// advice returns the next step for a failure, as further lines.
func (c *Client) advice(status int, kind model.Kind) string {
	switch {
	case kind == model.ErrContextLength:
		return "\n" + shorten
	case kind == model.ErrQuota:
		return "\nRetrying doesn't help. Check the plan and the balance of the account, or use another model."
	case kind == model.ErrCredentials && c.Options.Token != nil:
		return "\nCheck the permissions of the account in " + c.Options.KeyName + "."
	case kind == model.ErrCredentials && c.Options.Key == "" && c.Options.KeyName != "":
		return "\nThe server requires an API key. Set " + c.Options.KeyName + "."
	case kind == model.ErrCredentials && c.Options.Key == "":
		return "\nThe server requires an API key."
	case kind == model.ErrCredentials && c.Options.KeyName != "":
		return "\nCheck the API key in " + c.Options.KeyName + "."
	case kind == model.ErrCredentials:
		return "\nCheck the API key."
	case kind == model.ErrUnknownModel:
		return ""
	case status == http.StatusNotFound:
		return "\nCheck the base URL (it usually ends in " + cmp.Or(c.API.Version, "/v1") + ") and the model name."
	case status/100 == 3:
		return "\nCheck the base URL, and whether a proxy requires a login."
	}
	return ""
}

// withNextStep adds a line to an error and keeps its kind and status.
func withNextStep(err error, line string) error {
	out := model.Error{Kind: model.ErrServer}
	var known *model.Error
	if errors.As(err, &known) {
		out = *known
	}
	out.Err = fmt.Errorf("%w\n%s", err, line)
	return &out
}

// StreamError returns the error for an error object where a part of the answer was expected.
func StreamError(raw []byte) error {
	e := innerError(raw)
	status := 0
	if _, err := fmt.Sscan(Scalar(e.Code), &status); err != nil || http.StatusText(status) == "" {
		status = 0
	}
	if status == 0 && strings.Contains(e.words(), "overloaded") {
		status = http.StatusServiceUnavailable
	}
	err := &model.Error{Kind: kindOf(status, e), Status: status, Err: fmt.Errorf("the server stopped its answer: %s",
		e.Message)}
	if err.Kind == model.ErrContextLength {
		return withNextStep(err, shorten)
	}
	return err
}

// dialFailure returns the failure of a request that got no response.
func (c *Client) dialFailure(req string, err error) *Failure {
	var known *model.Error
	if errors.As(err, &known) {
		return &Failure{Err: err}
	}
	f := &Failure{again: true}
	var dns *net.DNSError
	f.quick = errors.Is(err, syscall.ECONNREFUSED) || errors.As(err, &dns) && dns.IsNotFound
	hint := ""
	switch tls := tlsAdvice(err); {
	case tls != "":
		f.again, hint = false, tls
	case f.quick:
		hint = "\nIs the server running? Check " + cmp.Or(c.Options.URLName, "the base URL") + "."
	}
	f.Err = model.Errorf(model.ErrUnreachable, "%s: %w%s", req, unwrapURL(err), hint)
	return f
}

// tlsAdvice returns the next step if the server's certificate or protocol is the problem; "" if it isn't. Retrying
// doesn't help.
func tlsAdvice(err error) string {
	var untrusted *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &untrusted):
		return "\nIf a proxy inspects TLS, add its certificate to the system's, or set SSL_CERT_FILE to a file " +
			"that has it."
	case errors.As(err, &record), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return "\nThe server doesn't use TLS. Use a base URL with http://."
	}
	return ""
}

// answerFailure returns the failure of an answer that began well.
func answerFailure(err error) *Failure {
	var known *model.Error
	if !errors.As(err, &known) {
		return &Failure{Err: err}
	}
	var broken *json.SyntaxError // damaged on the way: again, as after a cut
	quick := known.Kind == model.ErrWire && errors.As(err, &broken)
	again := quick || known.Kind == model.ErrCut || known.Kind == model.ErrRateLimit || known.Kind == model.ErrServer
	return &Failure{
		Err: err, again: again, quick: quick, busy: known.Kind == model.ErrRateLimit || isBusy(known.Status) &&
			known.Kind != model.ErrQuota,
	}
}
