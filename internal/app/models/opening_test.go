package models

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/settings"
	"github.com/adze-dev/adze/internal/dev/waittest"
)

// While a model is opened at a server that doesn't answer, the name of the model can be read, and who waits for it too
// can stop waiting. The status line of each frame reads the name: the terminal used to freeze for 30 s, and Ctrl+C did
// nothing.
func TestOpeningAtASilentServer(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case asked <- struct{}{}:
		default:
		}
		<-r.Context().Done()
	}))
	defer server.Close()
	m := &Models{opened: map[string]opening{}, settings: &settings.Settings{}, env: project.Env{Getenv: func(name string) string {
		return map[string]string{"OPENAI_BASE_URL": server.URL, "OPENAI_API_KEY": "k", "ADZE_LOCAL_MODELS": "off"}[name]
	}}}
	first, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := m.Open(first)
		ended <- err
	}()
	<-asked
	read := make(chan string, 1)
	go func() { read <- m.Name() + m.Where().URL }()
	waittest.Until(t, "the name can be read", func() bool { return len(read) == 1 })
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Open(interrupted); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	stop()
	if err := <-ended; err == nil {
		t.Error("a model was opened")
	}
	m.Close()
}
