package attach

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestResourcesOfAPrompt(t *testing.T) {
	known := func(server, uri string) bool { return server == "s" && uri == "x://odd." }
	for prompt, want := range map[string][]string{
		"see @s:a://b, and (@t:c://d).": {"a://b", "c://d"},
		"see @s:x://odd.":               {"x://odd."},
		"see @s:x://odd..":              {"x://odd."},
		"see @s:y://even.":              {"y://even"},
		`see @"s:a://b c."`:             {"a://b c."},
		"mail me@s:a://b":               nil,
		"see @u:a://b @s: @s":           {"no server: a://b"},
		"see @u:b @types/node":          nil,
	} {
		var got []string
		for _, r := range resources(prompt, []string{"s", "t"}, known) {
			if r.server == "" {
				r.uri = "no server: " + r.uri
			}
			got = append(got, r.uri)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s\n%s", prompt, diff)
		}
	}
}

// Whatever a prompt holds, reading it does not panic, and what it names is in it.
func FuzzResources(f *testing.F) {
	for _, s := range []string{"see @s:a://b.", `@"s:x`, "/é '", "@s:\xff."} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, prompt string) {
		for _, r := range resources(prompt, []string{"s"}, func(_, uri string) bool { return len(uri)%2 == 0 }) {
			if !strings.Contains(prompt, r.uri) {
				t.Errorf("%q is not in %q", r.uri, prompt)
			}
		}
	})
}
