package requestlog_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/app/requestlog"
	"github.com/adze-dev/adze/model"
)

// parrot repeats its key in an error after two pieces of text.
type parrot struct{ key string }

func (parrot) Name() string { return "parrot" }

func (p parrot) Stream(context.Context, model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		_ = yield(model.Text("a"), nil) && yield(model.Text("b"), nil) && yield(nil, errors.New("bad key "+p.key))
	}
}

func TestStream(t *testing.T) {
	const key = "secret-key-1234"
	var out bytes.Buffer
	log := requestlog.New(&out, t.Errorf)
	var passed int
	for range log.Stream(t.Context(), parrot{key}, model.Request{System: "Be brief."}, key) {
		passed++
	}
	if passed != 3 {
		t.Errorf("%d events were passed on, not 3", passed)
	}
	lines := strings.Split(strings.TrimSpace(regexp.MustCompile(`"(time|duration_ms)":("[^"]*"|\d+),`).ReplaceAllString(out.String(), "")), "\n")
	if len(lines) != 2 || !strings.HasPrefix(lines[0], `{"type":"request","id":1,"model":"parrot","system":"Be brief."`) {
		t.Fatalf("logged %q", lines)
	}
	if !strings.Contains(lines[1], `"ab"`) || !strings.Contains(lines[1], `"error":"bad key [API key]"`) || strings.Contains(out.String(), key) {
		t.Errorf("logged %s", lines[1])
	}
}

type brokenDisk struct{}

func (brokenDisk) Write([]byte) (int, error) { return 0, errors.New("disk full") }

// A log that can't be written is reported once and stops nothing.
func TestUnwritableLog(t *testing.T) {
	var warnings []string
	log := requestlog.New(brokenDisk{}, func(format string, args ...any) { warnings = append(warnings, fmt.Sprintf(format, args...)) })
	for range 2 {
		for range log.Stream(t.Context(), parrot{}, model.Request{}, "") {
		}
	}
	if len(warnings) != 1 || warnings[0] != "write the request log: disk full" {
		t.Errorf("warnings %q", warnings)
	}
	if requestlog.New(nil, nil) != nil {
		t.Error("a log without a writer")
	}
}
