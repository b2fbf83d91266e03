package trial

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/adze-dev/adze/internal/engine/proc"
)

// If another process changes a file that a trial changed, before it runs or before it is kept, the trial isn't kept and the
// file is unchanged.
func TestConflicts(t *testing.T) {
	t.Parallel()
	b := opened(t, Options{})
	path := func(name string) string { return filepath.Join(b.root, name) }
	ways := map[string]func(name string) error{
		"replace": func(name string) error {
			return errors.Join(os.WriteFile(path("other"), []byte("theirs\n"), 0o644), os.Rename(path("other"), path(name)))
		},
		"append": func(name string) error {
			f, err := os.OpenFile(path(name), os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = f.WriteString("theirs\n")
			return errors.Join(err, f.Close())
		},
		"chmod":  func(name string) error { return os.Chmod(path(name), 0o604) },
		"delete": func(name string) error { return os.Remove(path(name)) },
	}
	for way, do := range ways {
		for _, c := range []struct{ line, name string }{
			{"echo ours > a", "a"}, {"rm a", "a"}, {"chmod 600 a", "a"}, {"rm -r dir", "dir/b"}, {"rm -r dir; mkdir dir", "dir/b"}, {"echo ours >> two", "twin"},
		} {
			for _, when := range []string{"before it runs", "before its effects", "before it is kept"} {
				emptied(t, b.root)
				b.write("a", "old\n")
				b.write("dir/b", "old\n")
				b.write("two", "old\n")
				if err := os.Link(path("two"), path("twin")); err != nil {
					t.Fatal(err)
				}
				var now string
				tried, err := b.layers.New(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				at := func(point string) {
					if point == when {
						if err := do(c.name); err != nil {
							t.Fatal(err)
						}
						now = snapshot(t, b.root)
					}
				}
				at("before it runs")
				if _, err := b.runner.Run(context.Background(), proc.Command{Line: c.line, Dir: b.root, Sandbox: tried.Spec(nil)}); err != nil {
					t.Fatal(err)
				}
				at("before its effects")
				e, err := tried.Effects(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				at("before it is kept")
				_, err = tried.Keep(context.Background(), nil)
				if way == "delete" && when != "before it is kept" && (e.None() || c.name == "twin" || c.line == "echo ours > a" && when == "before it runs") {
					tried.Drop() // both deleted it, it is gone by one of its names, or the command made it again
					continue
				}
				if !errors.Is(err, ErrConflict) || snapshot(t, b.root) != now {
					t.Errorf("%s %s %s %s: %v\n%s", way, c.name, when, c.line, err, diff(now, snapshot(t, b.root)))
				}
				tried.Drop()
			}
		}
	}
}
