package session

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// A server that ADZE_LOCAL_MODELS names used to be ignored on a busy machine, where it took more than half a second.
func TestNamedLocalModelMayBeSlow(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(localWait + 100*time.Millisecond)
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"object":"list","data":[{"id":"small-one","object":"model"}]}`)
	}))
	defer server.Close()
	env := Env{Getenv: func(name string) string { return map[string]string{"ADZE_LOCAL_MODELS": server.URL + "/v1"}[name] }}
	found := localServers(t.Context(), env)
	if len(found) != 1 || found[0].address != server.URL+"/v1" || found[0].models[0].ID != "small-one" {
		t.Errorf("found %+v", found)
	}
}
