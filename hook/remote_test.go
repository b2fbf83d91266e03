package hook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// serve returns the URL of a server of this machine.
func serve(t *testing.T, f http.HandlerFunc) string {
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	return s.URL
}

func TestHTTP(t *testing.T) {
	answer := func(status int, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			io.WriteString(w, text)
		}
	}
	deny := `{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"because"}}`
	other := serve(t, answer(200, `{"decision":"allow"}`))
	for _, tt := range []struct {
		name   string
		server http.HandlerFunc
		want   Verdict
		reason string
	}{
		{"empty", answer(204, ""), None, ""},
		{"deny", answer(200, deny), Deny, "because"},
		{"allow", answer(200, `{"decision":"allow"}`), Allow, ""},
		{"text", answer(200, "hello"), Ask, "not the expected JSON object: hello"},
		{"invalid JSON", answer(200, `{"decision":`), Ask, "not the expected JSON object"},
		{"error", answer(500, "oops"), Ask, "status 500: oops"},
		{"redirect", func(w http.ResponseWriter, q *http.Request) { http.Redirect(w, q, other, http.StatusTemporaryRedirect) }, Ask, "status 307"},
		{"100 MB", func(w http.ResponseWriter, q *http.Request) {
			for range 100 {
				if _, err := w.Write(make([]byte, 1<<20)); err != nil {
					return
				}
			}
		}, Ask, "longer than 1 MB"},
		{"no answer", func(_ http.ResponseWriter, q *http.Request) {
			io.Copy(io.Discard, q.Body)
			<-q.Context().Done() // the client has given up
		}, Ask, "timed out after 50ms"},
		{"the connection ends", func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) }, Ask, "EOF"},
		{"input", func(w http.ResponseWriter, q *http.Request) {
			body, _ := io.ReadAll(q.Body)
			fmt.Fprintf(w, `{"decision":"block","reason":"%s %s %t"}`, q.Method, q.Header.Get("X-Key"),
				strings.Contains(string(body), `"tool_input":{"command":"ls"}`))
		}, Deny, "POST k1 true"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := Hook{Event: PreToolUse, URL: serve(t, tt.server), Headers: map[string]string{"X-Key": "${KEY} $OTHER"}, HeaderEnv: []string{"KEY"}}
			if tt.name == "no answer" {
				h.Timeout = 50 * time.Millisecond
			}
			r := Open(Options{Hooks: []Hook{h}, Environ: []string{"KEY=k1", "OTHER=k2"}})
			defer r.Close()
			got := r.Run(t.Context(), Input{Event: PreToolUse, ToolInput: []byte(`{"command":"ls"}`)}, "x")
			if got.Verdict != tt.want || !strings.Contains(got.Reason, tt.reason) {
				t.Errorf("got %v %q, want %v %q", got.Verdict, got.Reason, tt.want, tt.reason)
			}
		})
	}
}

// Requests to other machines need a rule.
func TestHTTPHosts(t *testing.T) {
	for _, tt := range []struct {
		url  string
		sent bool
	}{
		{"http://127.0.0.1:1/", true}, {"http://localhost:1/", true}, {"http://[::1]:1/", true}, {"http://[::ffff:127.0.0.1]:1/", true},
		{"http://localhost.example.com:1/", false}, {"http://192.0.2.1:1/", false}, {"http://0.0.0.0:1/", false}, {"http://127.0.0.1.example:1/", false},
	} {
		r := Open(Options{Hooks: []Hook{{Event: PreToolUse, URL: tt.url}}, AllowHost: func(host string) bool { return host == "allowed" }})
		got := r.Run(t.Context(), Input{Event: PreToolUse, ToolInput: []byte(`{}`)}, "x")
		if sent := !strings.Contains(got.Reason, "no allow rule names it"); sent != tt.sent || got.Verdict != Ask {
			t.Errorf("%s: got %v %q", tt.url, got.Verdict, got.Reason)
		}
		r.Close()
	}
}

func TestPrompt(t *testing.T) {
	for _, tt := range []struct {
		reply  string
		want   Verdict
		reason string
	}{
		{`{"ok": true}`, None, ""},
		{"```json\n{\"ok\": false, \"reason\": \"too wide\"}\n```", Deny, "too wide"},
		{`{"ok": true, "decision": "allow"}`, None, ""},
		{`Sure!`, Ask, `has no "ok": Sure!`},
		{`{"approve": true}`, Ask, `has no "ok"`},
		{"", Ask, `has no "ok"`},
		{"fails", Ask, "no connection"},
	} {
		asked := ""
		r := Open(Options{Hooks: []Hook{{Event: PreToolUse, Prompt: "Is $ARGUMENTS fine?"}}, Ask: func(_ context.Context, prompt string) (string, error) {
			if asked = prompt; tt.reply == "fails" {
				return "", errors.New("no connection")
			}
			return tt.reply, nil
		}})
		got := r.Run(t.Context(), Input{Event: PreToolUse, ToolInput: []byte(`{"command":"ls"}`)}, "x")
		if got.Verdict != tt.want || !strings.Contains(got.Reason, tt.reason) || !strings.Contains(asked, `"command":"ls"`) {
			t.Errorf("%q: got %v %q, asked %q", tt.reply, got.Verdict, got.Reason, asked)
		}
		r.Close()
	}
}
