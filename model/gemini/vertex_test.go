package gemini

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/adze-dev/adze/model"
)

// A service account signs its login with its key. A token that has expired is replaced.
func TestServiceAccount(t *testing.T) {
	t.Parallel()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	logins := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		logins++
		part := strings.Split(r.FormValue("assertion"), ".")
		if len(part) != 3 || r.FormValue("grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer" {
			t.Fatalf("login: %v", r.Form)
		}
		sum := sha256.Sum256([]byte(part[0] + "." + part[1]))
		signature, err := base64.RawURLEncoding.DecodeString(part[2])
		if err != nil || rsa.VerifyPKCS1v15(&key.PublicKey, crypto.SHA256, sum[:], signature) != nil {
			t.Errorf("the signature is invalid: %v", err)
		}
		raw, _ := base64.RawURLEncoding.DecodeString(part[1])
		var claims struct{ Iss, Scope, Aud string }
		if json.Unmarshal(raw, &claims) != nil || claims.Iss != "me@p.iam.gserviceaccount.com" || claims.Aud != "http://"+r.Host ||
			claims.Scope != "https://www.googleapis.com/auth/cloud-platform" {
			t.Errorf("claims: %s", raw)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"access_token":"short","expires_in":1,"token_type":"Bearer"}`)
	}))
	defer s.Close()
	text, _ := json.Marshal(map[string]string{
		"type": "service_account", "project_id": "p", "client_email": "me@p.iam.gserviceaccount.com", "private_key_id": "1", "token_uri": s.URL,
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
	})
	o, err := Vertex(Options{Model: "m", Key: "other"}, text, "", "")
	if err != nil || o.Key != "" || o.BaseURL != "https://aiplatform.googleapis.com/v1/projects/p/locations/global/publishers/google" {
		t.Fatalf("%s %v", o.BaseURL, err)
	}
	for range 2 {
		if token, err := o.Token(t.Context()); err != nil || token != "short" {
			t.Errorf("%q %v", token, err)
		}
	}
	if logins != 2 {
		t.Errorf("%d logins", logins)
	}
}

// Invalid logins are errors with the next step, and without the secret.
func TestInvalidLogins(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":"invalid_grant","error_description":"Token has been expired or revoked."}`)
	}))
	defer s.Close()
	for text, want := range map[string]string{
		`nonsense`:                    "invalid JSON",
		`{"type":"external_account"}`: `type "external_account" are not supported`,
		`{"type":"authorized_user"}`:  "GOOGLE_CLOUD_PROJECT",
	} {
		if _, err := Vertex(Options{}, []byte(text), "", ""); !errors.Is(err, model.ErrCredentials) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	o, err := Vertex(Options{Model: "m"}, []byte(`{"type":"authorized_user","refresh_token":"hush","token_uri":"`+s.URL+`"}`), "p", "us-central1")
	if err != nil || !strings.HasPrefix(o.BaseURL, "https://us-central1-aiplatform.googleapis.com/v1/projects/p/locations/us-central1/") {
		t.Fatal(o.BaseURL, err)
	}
	m, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for _, err := range m.Stream(t.Context(), model.Request{Messages: []model.Message{model.Prompt("hi")}}) {
		if !errors.Is(err, model.ErrCredentials) || !strings.Contains(err.Error(), "expired or revoked") || !strings.Contains(err.Error(), "gcloud auth") ||
			strings.Contains(err.Error(), "hush") {
			t.Errorf("%v", err)
		}
	}
}
