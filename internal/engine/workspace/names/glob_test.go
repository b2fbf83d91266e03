package names

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestMaySecret(t *testing.T) {
	for _, pattern := range []string{
		"/p/.e*", "/p/.env*", "/p/.en?", "/p/.[e]nv", "/p/.ENV?*", "/p/*", "/p/*.pem", "/p/*.p?m", "/p/id_*", "/p/*rsa", "/p/*.json", "/p/.*", "/p/s*/*.key",
		"/home/me/.s*/x", "/home/me/.ssh/*", "/home/*/.ssh/x", "/etc/sh*", "/proc/*/environ", "/p/.en[", "/p/cred*", "/p/[", "/p/.e\\nv*", "/p/a*", "/p/README*",
	} {
		if _, ok := MaySecret(pattern); !ok {
			t.Errorf("%q cannot name a secret", pattern)
		}
	}
	for _, pattern := range []string{"/p/*.go", "/p/**/*.go", "/p/*/*.txt", "/p/src/*.md", "/p/src/*/main.go", "/p/*.txt", "/p/test?.py", "/p/\\*", ""} {
		if name, ok := MaySecret(pattern); ok {
			t.Errorf("%q may name %s", pattern, name)
		}
	}
	for _, pattern := range []string{"/p/*", "/p/*.pem", "/p/id_*", "/p/.env*"} {
		name, _ := MaySecret(pattern)
		if _, ok := Secret("/p/" + name); !ok {
			t.Errorf("%q: the example %q is not secret", pattern, name)
		}
	}
}

// A set used to end at its first ], so that [[:alpha:]], [^]a] and [\\]v] hid what follows.
func TestMaySecretInSets(t *testing.T) {
	for _, pattern := range []string{
		"/p/.en[[:alpha:]]", "/p/.en[[=v=]]", "/p/.en[^[:digit:]]", "/p/.en[^]a]", "/p/.en[!]]", "/p/.en[\\]v]", "/p/*.[[:lower:]]em", "/et[[:alpha:]]/shadow",
	} {
		if _, ok := MaySecret(pattern); !ok {
			t.Errorf("%q cannot name a secret", pattern)
		}
	}
}

// Names that are only secret if named don't make a pattern secret.
func TestNamedSecrets(t *testing.T) {
	for _, path := range []string{"/p/secrets.yml", "/p/terraform.tfvars", "/p/service-account-x.json", "/p/Secrets.YAML", "/p/prod.tfstate", "/p/.env~", "/p/.env-prod", "/p/.env_local"} {
		if _, ok := Secret(path); !ok {
			t.Errorf("%s is not secret", path)
		}
	}
	for _, path := range []string{"/p/.env-example", "/p/.env_sample", "/p/.environment", "/p/.envoy.yaml"} {
		if _, ok := Secret(path); ok {
			t.Errorf("%s is secret", path)
		}
	}
	for _, pattern := range []string{"/p/.github/workflows/*.yml", "/p/*.tf"} {
		if name, ok := MaySecret(pattern); ok {
			t.Errorf("%q may name %s", pattern, name)
		}
	}
}

// commonSlowly is common as one would write it down.
func commonSlowly(a, b []rune) bool {
	if len(a) == 0 && len(b) == 0 {
		return true
	}
	starA, starB := len(a) > 0 && a[0] == '*', len(b) > 0 && b[0] == '*'
	switch {
	case starA && (commonSlowly(a[1:], b) || len(b) > 0 && commonSlowly(a, b[1:])):
		return true
	case starB && (commonSlowly(a, b[1:]) || len(a) > 0 && commonSlowly(a[1:], b)):
		return true
	case starA || starB || len(a) == 0 || len(b) == 0:
		return false
	}
	return (a[0] == '?' || a[0] == b[0]) && commonSlowly(a[1:], b[1:])
}

func TestCommonAgainstSlow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.StringMatching(`[ab*?]{0,8}`).Draw(t, "a")
		b := rapid.StringMatching(`[ab*]{0,8}`).Draw(t, "b")
		if got, want := common([]rune(a), []rune(b)), commonSlowly([]rune(a), []rune(b)); got != want {
			t.Fatalf("%q and %q: %v, want %v", a, b, got, want)
		}
	})
}

func BenchmarkSecret(b *testing.B) {
	for b.Loop() {
		Secret("/home/me/app/src/internal/main.go")
	}
}

// maySecretSlowly holds a pattern against every name at every place.
func maySecretSlowly(pattern string) bool {
	t, globs := secretNames(), newGlobs(strings.FieldsFunc(pattern, func(r rune) bool { return r == '/' }))
	found := false
	for i := range t.files {
		found = found || overlap(&globs[len(globs)-1], t.files[i].comps[0])
	}
	for at := range globs {
		for i := range t.directories {
			n := &t.directories[i]
			found = found || at+len(n.comps) <= len(globs) && overlaps(globs[at:], n.comps)
		}
	}
	for i := range t.system {
		n := &t.system[i]
		found = found || len(n.comps) <= len(globs) && overlaps(globs, n.comps)
	}
	return found
}

// Only names with the right first or last character are held against a pattern; that leaves none out.
func TestMaySecretAgainstSlow(t *testing.T) {
	var comps []string
	for _, table := range [][]rule{secretFiles, secretDirectories, systemSecrets} {
		for _, r := range table {
			comps = append(comps, strings.Split(strings.ReplaceAll(r.chain, "*", "x"), "/")...)
		}
	}
	comp := rapid.OneOf(rapid.SampledFrom(comps), rapid.StringMatching(`[.a-zA-Z_0-9]{1,6}`))
	rapid.Check(t, func(t *rapid.T) {
		pattern := ""
		for _, c := range rapid.SliceOfN(comp, 1, 4).Draw(t, "path") {
			switch at := rapid.IntRange(0, len(c)).Draw(t, "at"); rapid.IntRange(0, 3).Draw(t, "how") {
			case 0:
				c = c[:at] + rapid.SampledFrom([]string{"*", "?", "[a-z]", "[", "\\"}).Draw(t, "more") + c[at:]
			case 1:
				c = c[:at] + "*"
			case 2:
				c = "*" + c[at:]
			}
			pattern += "/" + c
		}
		if !strings.ContainsAny(pattern, "*?[") {
			return
		}
		if _, got := MaySecret(pattern); got != maySecretSlowly(pattern) {
			t.Fatalf("%s: %v", pattern, got)
		}
	})
}
