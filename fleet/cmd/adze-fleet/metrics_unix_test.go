//go:build unix

package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adze-dev/adze/fleet/internal/queue"
)

// /metrics of a worker has its tasks, model requests, tokens and cost.
func TestMetrics(t *testing.T) {
	t.Parallel()
	m := newMachine(t, serveModel(t))
	m.settings(`{"modelPricing":{"scripted":{"input":1,"output":1}}}`)
	address := queue.StableAddress(t.TempDir())
	flags := m.server("10s")
	m.start(append([]string{"worker", "--slots", "1", "--name", "w", "--metrics", address}, flags...)...)
	if out, problems, code := m.run(append([]string{"run", m.tasks("tasks.jsonl", 2, 1)}, flags...)...); code != 0 {
		t.Fatalf("exit code %d: %s%s", code, out, problems)
	}
	answer, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	for _, want := range []string{
		"adze_fleet_tasks_total{worker=\"w\",state=\"passed\"} 2\n", "adze_fleet_model_requests_total{worker=\"w\"} 6\n",
		"adze_fleet_tokens_total{worker=\"w\",kind=\"input\"} 600\n", "adze_fleet_tokens_total{worker=\"w\",kind=\"output\"} 60\n",
		"# TYPE adze_fleet_cost_dollars_total counter\nadze_fleet_cost_dollars_total{worker=\"w\"} 0.00066",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("without %q:\n%s", want, text)
		}
	}
}

// engine writes a fake container engine that records its arguments and runs the given command.
func (m *machine) engine(name, script string) string {
	m.t.Helper()
	path := filepath.Join(m.dir, name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\necho \"$@\" >> "+m.dir+"/engine.log\n"+script), 0o755); err != nil {
		m.t.Fatal(err)
	}
	return path
}

func (m *machine) engineLog() string {
	m.t.Helper()
	raw, err := os.ReadFile(filepath.Join(m.dir, "engine.log"))
	if err != nil {
		m.t.Fatal(err)
	}
	return string(raw)
}

// A task with an image runs in a container: the program and the clone are mounted, and no key is on the command line.
func TestDocker(t *testing.T) {
	t.Parallel()
	m := newMachine(t, serveModel(t))
	m.vars = []string{"ADZE_PROGRAM=" + os.Args[0]}
	docker := m.engine("docker", `
[ "$1" = run ] || exit 0
while [ "$1" != -- ]; do shift; done
shift 2
exec "$ADZE_PROGRAM" "$@"
`)
	file := m.file("tasks.jsonl", `{"id":"a","repo":"repo","image":"golang:1.26","prompt":"do a 1 EFFECTS","env":{"COLOR":"red"}}`)
	if out, problems, code := m.run("run", file, "--container", docker); code != 0 {
		t.Fatalf("exit code %d: %s%s", code, out, problems)
	}
	log := m.engineLog()
	for _, want := range []string{"run --rm --interactive --name adze-", ":/adze-fleet:ro", "--workdir " + m.dir, "--env COLOR", "--entrypoint /adze-fleet -- golang:1.26 child\n", "rm --force adze-"} {
		if !strings.Contains(log, want) {
			t.Errorf("without %q:\n%s", want, log)
		}
	}
	if strings.Contains(log, secretKey) || strings.Contains(log, "red") {
		t.Errorf("the command line has values: %s", log)
	}
}

// A command template takes the place of docker.
func TestContainerTemplate(t *testing.T) {
	t.Parallel()
	m := newMachine(t, serveModel(t))
	m.engine("enter", `
image=$1; dir=$2; shift 2
[ -d "$dir" ] && [ "$image" = img ] && exec "$@"
`)
	file := m.file("tasks.jsonl", `{"id":"a","repo":"repo","image":"img","prompt":"do a 1 EFFECTS"}`)
	if out, problems, code := m.run("run", file, "--container", m.dir+"/enter {image} {dir} {program}"); code != 0 {
		t.Fatalf("exit code %d: %s%s%s", code, out, problems, m.engineLog())
	}
	if log := m.engineLog(); !strings.HasPrefix(log, "img "+m.dir) || !strings.HasSuffix(log, " child\n") {
		t.Errorf("the command line is %q", log)
	}
}
