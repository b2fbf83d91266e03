package session

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/adze-dev/adze/internal/settings"
)

// Completions of /model request the list once: each key used to request it, and canceled the request of the key before.
func TestModelsAreListedOnce(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	answer := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/models") {
			requests.Add(1)
			select {
			case <-answer:
			case <-r.Context().Done():
			}
		}
		w.Write([]byte(`{"data":[{"id":"one"},{"id":"two"}]}`))
	}))
	defer server.Close()
	m := &Models{settings: &settings.Settings{}, env: Env{Getenv: func(name string) string {
		return map[string]string{"OPENAI_BASE_URL": server.URL, "OPENAI_API_KEY": "k", "ADZE_LOCAL_MODELS": "off"}[name]
	}}}
	key, cancel := context.WithCancel(t.Context())
	cancel() // the next key was pressed
	if got := m.Known(key); got != nil {
		t.Errorf("of a key that is of no interest anymore: %v", got)
	}
	close(answer)
	for range 3 {
		if got := m.Known(t.Context()); len(got) != 2 {
			t.Errorf("%v", got)
		}
	}
	if n := requests.Load(); n != 1 {
		t.Errorf("%d requests", n)
	}
	m.close()
}

// A request for the list ends with the session.
func TestModelListEnds(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
	}))
	defer server.Close()
	m := &Models{settings: &settings.Settings{}, env: Env{Getenv: func(name string) string {
		return map[string]string{"OPENAI_BASE_URL": server.URL, "OPENAI_API_KEY": "k", "ADZE_LOCAL_MODELS": "off"}[name]
	}}}
	key, cancel := context.WithCancel(t.Context())
	go func() { <-asked; cancel() }()
	m.Known(key)
	m.close()
	if got := m.Known(t.Context()); len(got) != 0 {
		t.Errorf("after the end: %v", got)
	}
}
