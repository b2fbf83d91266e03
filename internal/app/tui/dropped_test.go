//go:build unix

package tui

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDroppedPaths(t *testing.T) {
	for text, want := range map[string][]string{
		"/a/shot.png":                     {"/a/shot.png"},
		" /a/shot.png \n":                 {"/a/shot.png"},
		`/a/my\ shot\ \(1\).png`:          {"/a/my shot (1).png"},
		`'/a/my shot.png'`:                {"/a/my shot.png"},
		`"/a/my shot.png" '/b/it'\''s'`:   {"/a/my shot.png", "/b/it's"},
		"/a/my shot.png":                  {"/a/my shot.png"},
		"/a/b.png /c/d.png":               {"/a/b.png", "/c/d.png"},
		"/a/b.png\n/c/d.png":              {"/a/b.png", "/c/d.png"},
		"file:///a/my%20shot.png":         {"/a/my shot.png"},
		"file://localhost/a/shot.png":     {"/a/shot.png"},
		"file://elsewhere/a/shot.png":     nil,
		"file:///a/%zz.png":               nil,
		"shot.png":                        nil,
		"see /a/shot.png":                 nil,
		"/a/shot.png and so on 'unclosed": nil,
		"":                                nil,
		"it's":                            nil,
	} {
		if d := cmp.Diff(want, droppedPaths(text)); d != "" {
			t.Errorf("%q: %s", text, d)
		}
	}
}
