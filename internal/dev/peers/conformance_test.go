package peers

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

// miss is a scenario of the suite that isn't passed, and why. All others must be, with at least one check each.
type miss struct {
	failed int // checks
	why    string
}

// clientMisses are about extensions, which belong to no version of the protocol.
func clientMisses() map[string]miss {
	return map[string]miss{
		"auth/client-credentials-jwt":           {-1, "an extension: there is no user, so no login here"},
		"auth/client-credentials-basic":         {-1, "an extension: there is no user, so no login here"},
		"auth/enterprise-managed-authorization": {-1, "an extension: there is no identity provider here"},
		"auth/wif-jwt-bearer":                   {-1, "an extension: there is no identity provider here"},
		"auth/dpop":                             {-1, "an extension that the SDK does not have"},
		"auth/dpop-nonce":                       {-1, "an extension that the SDK does not have"},
		"sep-2640-client-no-prefetch":           {-1, "skills of servers are not read; the scenario checks nothing then"},
		"sep-2640-client-verify-digest":         {-1, "likewise"},
		"sep-2640-client-verify-size":           {-1, "likewise"},
		"sep-2640-client-verify-frontmatter":    {-1, "likewise"},
	}
}

// serverMisses are of one version. The protocol itself is checked in all of these too: one check each compares the
// messages with the version's schema.
func serverMisses(version string) map[string]miss {
	misses := map[string]miss{}
	for _, name := range []string{
		"completion-complete", "resources-read-text", "resources-read-binary", "resources-templates-read", "prompts-get-simple", "prompts-get-with-args",
		"prompts-get-embedded-resource", "prompts-get-with-image",
	} {
		misses[name] = miss{1, "only tools are served"}
	}
	if version == "2025-11-25" {
		misses["resources-subscribe"] = miss{1, "only tools are served"}
		misses["resources-unsubscribe"] = miss{1, "only tools are served"}
		misses["tools-call-with-logging"] = miss{1, "tools have no log"}
		misses["tools-call-sampling"] = miss{1, "tools have no model of the client"}
		misses["server-sse-polling"] = miss{0, "streams aren't resumed; the scenario checks nothing then"}
		return misses
	}
	for _, name := range []string{"resources-list", "prompts-list", "input-required-result-non-tool-request"} {
		misses[name] = miss{1, "only tools are served: a capability that isn't declared has no methods"}
	}
	misses["caching"] = miss{3, "the lists of prompts, resources and templates; that of tools passes"}
	for name, why := range map[string]string{
		"input-required-result-basic-elicitation":       "the suite wants its own name for the question, and the name is the server's to choose; request-state is the same with any",
		"input-required-result-basic-sampling":          "deprecated with this version: tools have no model of the client",
		"input-required-result-basic-list-roots":        "deprecated with this version: the directories are those of the command line",
		"input-required-result-multiple-input-requests": "three kinds of questions at once, two of them deprecated",
		"input-required-result-capability-check":        "the suite wants a request for a model in place of the question",
	} {
		misses[name] = miss{1, why}
	}
	misses["server-stateless"] = miss{2, "no tool needs a capability: what can't be asked is denied, in a result that the model can read"}
	misses["http-custom-header-server-validation"] = miss{5, "no parameter of a tool is also a header"}
	return misses
}

var summaryLine = regexp.MustCompile(`(?m)^[✓✗] (\S+): (\d+) passed, (\d+) failed`)

// checkSummary compares the suite's counts with the expected ones. Its exit code is less precise: a scenario without checks
// isn't a pass.
func checkSummary(t *testing.T, out []byte, misses map[string]miss, want int) {
	t.Helper()
	passedScenarios := 0
	for _, m := range summaryLine.FindAllSubmatch(out, -1) {
		name := string(m[1])
		passed, _ := strconv.Atoi(string(m[2]))
		failed, _ := strconv.Atoi(string(m[3]))
		ok := passed > 0 && failed == 0
		known, isKnown := misses[name]
		if isKnown == ok || isKnown && known.failed >= 0 && known.failed != failed {
			t.Errorf("%s: %d passed, %d failed, want %d (%s)", name, passed, failed, known.failed, known.why)
		}
		if ok {
			passedScenarios++
		}
		delete(misses, name)
	}
	if passedScenarios != want || len(misses) > 0 {
		t.Errorf("%d scenarios passed, want %d; %v were not run:\n%.4000s", passedScenarios, want, misses, out)
	}
}

// conformance runs the suite with this test binary as the other side.
func conformance(t *testing.T, args ...string) []byte {
	t.Helper()
	n := node(t)
	cmd := exec.Command(n, append([]string{module(t, "conformance/dist/index.js")}, args...)...)
	cmd.Env = append(os.Environ(), "ADZE_PEER=client", "PATH="+filepath.Dir(n)+string(os.PathListSeparator)+os.Getenv("PATH"))
	cmd.Dir = t.TempDir()
	out, _ := cmd.CombinedOutput() // fails for scenarios that are known to
	return out
}

func TestConformanceClient(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for version, c := range map[string]struct {
		misses map[string]miss
		want   int
	}{"": {clientMisses(), 38}, "2025-11-25": {nil, 19}, "2026-07-28": {nil, 33}} {
		t.Run("version "+version, func(t *testing.T) {
			args := []string{"client", "--command", self, "--suite", "all", "--timeout", "60000"}
			if version != "" {
				args = append(args, "--spec-version", version)
			}
			checkSummary(t, conformance(t, args...), c.misses, c.want)
		})
	}
}

func TestConformanceServer(t *testing.T) {
	node(t)
	address := serveFixture(t, "")
	for version, want := range map[string]int{"2025-11-25": 20, "2026-07-28": 21} {
		t.Run(version, func(t *testing.T) {
			out := conformance(t, "server", "--url", "http://"+address+"/", "--suite", "all", "--spec-version", version)
			checkSummary(t, out, serverMisses(version), want)
		})
	}
}

// serveFixture starts the fixture server over HTTP, in its own process, and waits for it.
func serveFixture(t *testing.T, token string) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address = l.Addr().String()
	l.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "ADZE_PEER=server", "ADZE_PEER_HTTP="+address, "ADZE_PEER_TOKEN="+token)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	awaitListener(t, address)
	return address
}
