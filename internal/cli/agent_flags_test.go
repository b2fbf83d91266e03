package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestListFlags(t *testing.T) {
	for _, tt := range []struct {
		args string
		want []string
	}{
		{"--core-tools a,b", []string{"a", "b"}},
		{"--core-tools a --core-tools b,c", []string{"a", "b", "c"}},
		{"--core-tools=,a,,", []string{"a"}},
		{"--core-tools=", []string{}},
		{"--core-tools Shell(a,b),c", []string{"Shell(a,b)", "c"}},
		{"--core-tools Shell(x(1,2),y),c)d,e", []string{"Shell(x(1,2),y)", "c)d", "e"}},
		{"-p x", nil},
	} {
		o, _, err := parse(flags(), strings.Fields(tt.args))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(tt.want, o.coreTools); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.args, d)
		}
	}
}

func TestFlagSynonyms(t *testing.T) {
	o, words, err := parse(flags(), strings.Fields("--max-session-turns -1 --max-wall-time 90 --disallowed-tools a --exclude-tools b --include-directories d "+
		"--channel=SDK --telemetry=false --chat-recording --approval-mode auto --sandbox --yolo word -1"))
	if err != nil {
		t.Fatal(err)
	}
	if o.maxTurns != -1 || o.maxTime != 90*time.Second || strings.Join(o.excludeTools, " ") != "a b" || strings.Join(o.addDirs, " ") != "d" {
		t.Errorf("%+v", o)
	}
	if o.record.setting != "true" || o.mode != "auto-edit" || o.sandbox != "workspace" || !o.yolo || strings.Join(words, " ") != "word -1" {
		t.Errorf("%+v, words %q", o, words)
	}
	want := []string{"--channel has no effect in Adze", "--telemetry has no effect in Adze",
		"--approval-mode auto is not supported; using auto-edit, the nearest stricter mode"}
	if d := cmp.Diff(want, o.notes); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestDurations(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90s": 90 * time.Second, "10m": 10 * time.Minute, "90": 90 * time.Second, "0.5": time.Second / 2, "-1": -time.Second,
		"0": 0, "-2": 0, "x": 0, "": 0, "1e99": 0, "NaN": 0, "Inf": 0,
	} {
		if got, err := duration(text); got != want || (err == nil) != (want != 0) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}
