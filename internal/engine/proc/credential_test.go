package proc

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/engine/redact"
)

// A token is found where an expression with all beginnings finds one.
func TestHasToken(t *testing.T) {
	var quoted []string
	for _, s := range redact.Starts() {
		quoted = append(quoted, regexp.QuoteMeta(s))
	}
	want := regexp.MustCompile(`\b(?:` + strings.Join(quoted, "|") + `)[A-Za-z0-9_-]{6}`)
	parts := append([]string{"a", "_", "-", ".", " ", "é", "abc-_9", "0123456789", "\xff", "=", "/"}, redact.Starts()...)
	random := rand.New(rand.NewPCG(1, 2))
	found := 0
	for range 20_000 {
		var b strings.Builder
		for range random.IntN(6) {
			b.WriteString(parts[random.IntN(len(parts))])
		}
		if got := hasToken(b.String()); got != want.MatchString(b.String()) {
			t.Fatalf("%q: %v", b.String(), got)
		} else if got {
			found++
		}
	}
	if found < 1000 {
		t.Errorf("only %d have a token", found)
	}
}

func TestSecretVariable(t *testing.T) {
	for _, kv := range []string{
		"X=ghp_0123456789abcdef", "X=github_pat_11AAAAAAA0abcdefghijkl", "X=sk_live_CANARY", "X=sk-proj-abcdefgh", "X=xoxb-123456-abc", "X=eyJCANARY.x.y",
		"X=AKIAIOSFODNN7EXAMPLE", "X=DefaultEndpointsProtocol=https;AccountKey=abc==;", "X=postgres://u:pw@h/d", "X=https://token@h/", "X=postgres://u:p/w@h/d",
		"GOPROXY=https://u:p@proxy.example,direct", "MAVEN_OPTS=-Dhttp.proxyPassword=hunter2", "X=Server=db;Pwd=short", "X=Authorization: Basic dTpw",
		"X=-----BEGIN RSA PRIVATE KEY-----", "A_TOKEN=x", "X=redis://:pw@h:1", "X=a b https://u:p@h c",
	} {
		if !SecretVariable(kv) {
			t.Errorf("%s passes", kv)
		}
	}
	for _, kv := range []string{
		"PATH=/usr/bin:/bin", "GOPROXY=https://proxy.example.test,direct", "CFLAGS=-O2 -DX=1", "HOME=/home/me", "LANG=de_DE.UTF-8", "NODE_OPTIONS=--max-old-space-size=4096",
		"PYTHONPATH=src:lib", "JAVA_OPTS=-Dfile.encoding=UTF-8", "X=https://h:8080/a/b", "X=me@example.test", "GOFLAGS=-mod=mod -tags=task-runner", "X=disk-usage", "X=",
	} {
		if SecretVariable(kv) {
			t.Errorf("%s is withheld", kv)
		}
	}
}
