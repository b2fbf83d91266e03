package names

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestOrdinary(t *testing.T) {
	for _, name := range []string{"main.go", "x", "README.md", "a b", "env", "key", "id", "gen.json", "workflows.txt"} {
		if !Ordinary(name) {
			t.Errorf("%q is special", name)
		}
	}
	for _, name := range []string{"", ".", "..", ".x", "prod.env", "PROD.ENV", "a.pem.", "x.key ", "id_rsa_old", "secrets.yml", "a.pem.bak", "kaggle.json", "Jenkinsfile", "client_secret_1.json"} {
		if Ordinary(name) {
			t.Errorf("%q is ordinary", name)
		}
	}
}

// In one directory all ordinary names are judged alike.
func TestOrdinaryNamesAreAlike(t *testing.T) {
	var comps []string
	for _, table := range [][]rule{protected, secretFiles, namedSecrets, secretDirectories, systemSecrets} {
		for _, r := range table {
			comps = append(comps, strings.Split(strings.ReplaceAll(r.chain, "*", "x"), "/")...)
		}
	}
	comp := rapid.OneOf(rapid.SampledFrom(comps), rapid.StringMatching(`[.a-zA-Z_: ]{1,6}`))
	rapid.Check(t, func(t *rapid.T) {
		directory := "/" + strings.Join(rapid.SliceOfN(comp, 0, 4).Draw(t, "folder"), "/") + "/"
		name := comp.Draw(t, "name")
		if !Ordinary(name) {
			return
		}
		for _, judge := range []func(string) (string, bool){Secret, Protected} {
			why, is := judge(directory + name)
			if other, also := judge(directory + "nobody"); why != other || is != also {
				t.Fatalf("%s%s: %q, but nobody there: %q", directory, name, why, other)
			}
		}
	})
}
