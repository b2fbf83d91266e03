package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// file writes a file of tasks.
func (m *machine) file(name string, lines ...string) string {
	m.t.Helper()
	path := filepath.Join(m.dir, name)
	text := strings.ReplaceAll(strings.Join(lines, "\n"), "EFFECTS", m.effects())
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		m.t.Fatal(err)
	}
	return path
}

// settings writes the user's settings.
func (m *machine) settings(text string) {
	m.t.Helper()
	if err := os.MkdirAll(filepath.Join(m.dir, ".adze"), 0o700); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(m.dir, ".adze", "settings.json"), []byte(text), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

// Every task of the file has one line with its state, and the reason.
func TestStates(t *testing.T) {
	t.Parallel()
	m := newMachine(t, serveModel(t))
	m.vars = []string{"DEPLOY_VALUE=hidden-value-9876", "OTHER=x"}
	out, problems, code := m.run("run", m.file("tasks.jsonl",
		`{"defaults":{"repo":"repo"}}`,
		`{"id":"good","prompt":"do good 0 EFFECTS","setup":"echo ready > ready.tmp","checks":["grep good good.txt","test -f ready.tmp"]}`,
		`{"id":"bad check","prompt":"do bad 0 EFFECTS","checks":["echo because; false"]}`,
		`{"id":"idle","prompt":"nothing"}`,
		`{"id":"turns","prompt":"do turns 5 EFFECTS","limits":{"turns":2}}`,
		`{"id":"ref","prompt":"x","ref":"nope"}`,
		`{"id":"setup","prompt":"x","setup":"exit 7"}`,
		`{"id":"image","prompt":"x","image":"nope"}`,
		`{"id":"secret","prompt":"do secret 1 EFFECTS;echo${IFS}$GIVEN","env":{"GIVEN":"secret:DEPLOY_VALUE"},"checks":["test \"$GIVEN\" = hidden-value-9876"]}`,
		`{"id":"asks","prompt":"x","env":{"GIVEN":"secret:OPENAI_API_KEY"}}`,
	), "--json", "--secrets", "DEPLOY_VALUE", "--container", "no-such-engine")
	if code != 1 {
		t.Fatalf("exit code %d: %s%s", code, out, problems)
	}
	all := m.results(out)
	for id, want := range map[string][2]string{
		"good": {"passed", ""}, "bad check": {"failed", `check "echo because; false": exit code 1`}, "idle": {"unchanged", ""}, "turns": {"over_budget", ""},
		"ref": {"broken", `has no ref "nope"`}, "setup": {"broken", "exit code 7"}, "image": {"broken", "no-such-engine"}, "secret": {"passed", ""},
		"asks": {"broken", "--secrets OPENAI_API_KEY"},
	} {
		if got := all[id]; got["state"] != want[0] || !strings.Contains(fmt.Sprint(got["error"]), want[1]) {
			t.Errorf("%s: %v", id, got)
		}
	}
	if len(all) != 9 {
		t.Errorf("%d lines", len(all))
	}
	logs, _, _ := m.run("logs", m.runName()+"/secret")
	dir := filepath.Join(m.dir, "out")
	m.run("collect", m.runName(), "-o", dir, "--format", "dir")
	transcript, _ := os.ReadFile(filepath.Join(dir, "secret", "transcript.md"))
	for name, text := range map[string]string{"logs": logs, "transcript": string(transcript), "results": out} {
		if strings.Contains(text, "hidden-value") || strings.Contains(text, secretKey) {
			t.Errorf("the %s have a secret", name)
		}
	}
	if !strings.Contains(string(transcript), "[masked]") {
		t.Errorf("transcript: %s", transcript)
	}
}

// A file with errors submits nothing.
func TestBadFile(t *testing.T) {
	t.Parallel()
	m := newMachine(t, nil)
	_, problems, code := m.run("run", m.file("tasks.jsonl", `{"id":"a","prompt":"x"}`, `{"id":"a","prompt":"x"}`, `{`))
	if code != 42 || !strings.Contains(problems, "line 2: the id") || !strings.Contains(problems, "line 3: ") {
		t.Errorf("exit code %d: %s", code, problems)
	}
	if out, _, _ := m.run("status"); !strings.Contains(out, "No runs") {
		t.Errorf("status: %s", out)
	}
	if _, problems, code := m.run("run", filepath.Join(m.dir, "missing.jsonl")); code != 42 || !strings.Contains(problems, "missing.jsonl") {
		t.Errorf("exit code %d: %s", code, problems)
	}
	if _, problems, code := m.run("cancel", "nope"); code != 1 || !strings.Contains(problems, `unknown run "nope"`) {
		t.Errorf("exit code %d: %s", code, problems)
	}
	if _, problems, code := m.run("colect"); code != 2 || !strings.Contains(problems, "unknown command") {
		t.Errorf("exit code %d: %s", code, problems)
	}
}

// At the cost limit nothing more starts: exit code 55. A higher limit continues.
func TestMaxCost(t *testing.T) {
	t.Parallel()
	m := newMachine(t, serveModel(t))
	m.settings(`{"modelPricing":{"scripted":{"input":1,"output":1}}}`)
	file := m.tasks("tasks.jsonl", 3, 1)
	out, problems, code := m.run("run", file, "--json", "--max-cost", "0.0001")
	if code != 55 || !strings.Contains(problems, "higher --max-cost") {
		t.Fatalf("exit code %d: %s%s", code, out, problems)
	}
	if n := len(m.results(out)); n != 3 || m.model.asked() > 0 {
		t.Errorf("%d lines, %d requests", n, m.model.asked())
	}
	out, problems, code = m.run("run", file, "--json", "--max-cost", "5")
	if code != 0 {
		t.Fatalf("exit code %d: %s%s", code, out, problems)
	}
	for id, r := range m.results(out) {
		if cost, _ := r["cost"].(float64); cost < 0.0003 || cost > 0.0004 { // three requests of 110 tokens
			t.Errorf("%s: %v", id, r)
		}
	}
	unpriced := newMachine(t, m.model)
	_, problems, code = unpriced.run("run", unpriced.tasks("tasks.jsonl", 1, 0), "--json", "--max-cost", "5")
	if code != 1 || !strings.Contains(problems, "adze: the model scripted has no price, so its cost can't be limited\nAdd it to the setting modelPricing") {
		t.Errorf("without a price: exit code %d: %s", code, problems)
	}
}

// A canceled run ends, and a retry runs what didn't pass.
func TestRetry(t *testing.T) {
	t.Parallel()
	m := newMachine(t, serveModel(t))
	file := m.file("tasks.jsonl", `{"id":"a","repo":"repo","prompt":"do a 0 EFFECTS","checks":"test -f DIR/flag"}`, `{"id":"b","repo":"repo","prompt":"do b 0 EFFECTS"}`)
	raw, _ := os.ReadFile(file)
	m.file("tasks.jsonl", strings.ReplaceAll(string(raw), "DIR", m.dir))
	if out, problems, code := m.run("run", file); code != 1 {
		t.Fatalf("exit code %d: %s%s", code, out, problems)
	}
	m.file("flag", "")
	if out, _, code := m.run("retry", m.runName(), "--failed"); code != 0 || !strings.Contains(out, "1 tasks") {
		t.Fatalf("exit code %d: %s", code, out)
	}
	requests := m.model.asked()
	out, problems, code := m.run("run", file, "--json")
	if code != 0 || m.model.asked() != requests+2 {
		t.Fatalf("exit code %d, %d requests: %s%s", code, m.model.asked()-requests, out, problems)
	}
	if out, _, code := m.run("cancel", m.runName()); code != 0 || !strings.Contains(out, "canceled") {
		t.Errorf("exit code %d: %s", code, out)
	}
}
