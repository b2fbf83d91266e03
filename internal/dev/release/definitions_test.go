package main

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// The workflow runs CI on Linux, the tests on macOS and Windows, and the release on a tag.
func TestWorkflow(t *testing.T) {
	text, err := os.ReadFile("../../../.github/workflows/ci.yml")
	if err != nil {
		t.Fatal(err)
	}
	type step struct {
		Run, Uses string
	}
	var workflow struct {
		On struct {
			Push struct{ Tags []string }
		}
		Jobs map[string]struct {
			If       string
			Needs    []string
			RunsOn   string `yaml:"runs-on"`
			Strategy struct {
				Matrix struct{ OS []string }
			}
			Steps []step
		}
	}
	if err := yaml.Unmarshal(text, &workflow); err != nil {
		t.Fatal(err)
	}
	for job, want := range map[string]string{"linux": "bash .ci/run", "others": "go test ", "release": "make release VERSION="} {
		if !slices.ContainsFunc(workflow.Jobs[job].Steps, func(s step) bool { return strings.HasPrefix(s.Run, want) }) {
			t.Errorf("job %s doesn't run %q", job, want)
		}
	}
	if got := workflow.Jobs["others"].Strategy.Matrix.OS; !slices.Equal(got, []string{"macos-latest", "windows-latest"}) {
		t.Errorf("others run on %v", got)
	}
	if !slices.Contains(workflow.On.Push.Tags, "v*") || !strings.Contains(workflow.Jobs["release"].If, "refs/tags/v") {
		t.Error("the release doesn't run on a tag")
	}
	if got := workflow.Jobs["release"].Needs; !slices.Equal(got, []string{"linux", "others"}) {
		t.Errorf("the release waits for %v only", got)
	}
	for name, job := range workflow.Jobs {
		for _, s := range job.Steps { // a tag can be moved
			if s.Uses != "" && !regexp.MustCompile(`^[\w.-]+/[\w.-]+@[0-9a-f]{40}$`).MatchString(s.Uses) {
				t.Errorf("job %s uses %s, which isn't a commit", name, s.Uses)
			}
		}
	}
	// Pushing the tag of the newest version in the changelog is all that a release needs.
	changelog, err := os.ReadFile("../../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	if m := regexp.MustCompile(`(?m)^## (.*)$`).FindSubmatch(changelog); m == nil || !versionForm.MatchString("v"+string(m[1])) {
		t.Errorf("CHANGELOG.md begins with %q, which is no version", m)
	}
	if !slices.ContainsFunc(workflow.Jobs["release"].Steps, func(s step) bool { return strings.HasPrefix(s.Run, "grep -qxF") }) {
		t.Error("the release doesn't check the changelog")
	}
}

// The image has the program alone and an unprivileged user. It is built and run where there is a builder.
func TestContainerfile(t *testing.T) {
	text, err := os.ReadFile("../../../Containerfile")
	if err != nil {
		t.Fatal(err)
	}
	_, image, _ := strings.Cut(string(text), "FROM scratch\n")
	for _, want := range []string{"USER 65532:65532\n", `ENTRYPOINT ["/adze"]`, "WORKDIR /work\n"} {
		if !strings.Contains(image, want) {
			t.Errorf("the image has no %q", want)
		}
	}
	if !strings.Contains(string(text), "CGO_ENABLED=0 go build -trimpath") {
		t.Error("the program isn't static")
	}
	buildsReleases(t)
	for _, builder := range []string{"podman", "docker"} {
		if exec.Command(builder, "info").Run() != nil {
			continue
		}
		command(t, "../../..", builder, "build", "-q", "-t", "adze-test", "--build-arg", "VERSION=v9.8.7", "-f", "Containerfile", ".")
		defer exec.Command(builder, "rmi", "-f", "adze-test").Run()
		if got := command(t, "", builder, "run", "--rm", "adze-test", "version"); got != "adze v9.8.7\n" {
			t.Errorf("version %q", got)
		}
		command(t, "", builder, "run", "--rm", "adze-test", "demo") // writes to /tmp
		return
	}
	t.Skip("podman and docker are not available")
}
