package realpath

import (
	"errors"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"
)

// A resolver says what the function says, whatever it was asked before.
func TestResolverAgreesWithResolve(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		root, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		plant(root, rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(rt, "plan"))
		var r Resolver
		names := rapid.SliceOfN(rapid.StringMatching(`[abcd/.]{0,12}`), 1, 12).Draw(rt, "names")
		for _, name := range append(names, "a/b", "a/./b", "a/../b", "b/", "a//c") {
			name = root + "/" + name
			abs, exists, err := r.Resolve(name)
			wantAbs, wantExists, wantErr := Resolve(name)
			if abs != wantAbs || exists != wantExists || (err == nil) != (wantErr == nil) || errors.Is(err, ErrLoop) != errors.Is(wantErr, ErrLoop) {
				rt.Fatalf("%q: %q, %v, %v; want %q, %v, %v", name, abs, exists, err, wantAbs, wantExists, wantErr)
			}
		}
	})
}
