package secretfiles

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestShallow(t *testing.T) {
	root := newRoot(t)
	for _, name := range []string{"pip/credentials.json", "pip/.env", "pip/http/.aws/credentials", "pip/x/id_rsa", "pip/wheels/a.whl", "uv/token", "uv/x/credentials", "uv/auth.toml", "uv/x/tokenizer.js", "uv/archive/pkg/certifi/cacert.pem", "other/.env"} {
		write(t, filepath.Join(root, name), "x")
	}
	must(t, os.Symlink("x/id_rsa", filepath.Join(root, "pip/.netrc")))
	must(t, os.Symlink("../other/.env", filepath.Join(root, "pip/.env.local")))
	got := Shallow([]string{filepath.Join(root, "pip"), filepath.Join(root, "uv"), filepath.Join(root, "absent")}, func() bool { return false })
	var want []string
	for _, name := range []string{"pip/.env", "pip/credentials.json", "pip/x/id_rsa", "uv/auth.toml", "uv/token", "uv/x/credentials"} {
		want = append(want, filepath.Join(root, name))
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
