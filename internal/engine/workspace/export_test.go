package workspace_test

import (
	"crypto/sha256"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adze-dev/adze/internal/engine/workspace"
)

func everything(string) bool { return true }

// Records that were taken and restored elsewhere give the same answers, and each change is taken once.
func TestSeenIsTakenAndRestored(t *testing.T) {
	old, now := sha256.Sum256([]byte("old")), sha256.Sum256([]byte("now"))
	var s, restored workspace.Seen
	move := func(of func(string) bool) int {
		records := s.Take(of)
		for _, r := range records {
			restored.Restore(r)
		}
		return len(records)
	}
	s.RecordWhole("/whole", now, 10)
	s.Record("/part", now, 10, workspace.Range{First: 2, Last: 3}, workspace.Range{First: 7, Last: 7})
	s.RecordOpaque("/picture")
	s.RecordWhole("/changed", old, 5)
	s.RecordWhole("/gone", now, 1)
	s.Forget("/gone")
	if n := move(func(path string) bool { return path == "/part" }); n != 1 {
		t.Errorf("took %d records of one file", n)
	}
	if n := move(everything); n != 4 {
		t.Errorf("took %d records", n)
	}
	if n := move(everything); n != 0 {
		t.Errorf("took %d records that did not change", n)
	}
	s.Record("/part", now, 10, workspace.Range{First: 4, Last: 4})
	if n := move(everything); n != 1 {
		t.Errorf("took %d records after one change", n)
	}
	for _, path := range []string{"/whole", "/part", "/picture", "/changed", "/gone", "/never"} {
		if diff := cmp.Diff(s.Check(path, now), restored.Check(path, now)); diff != "" {
			t.Error(path, diff)
		}
	}
	if n := len(restored.Take(everything)); n != 0 {
		t.Errorf("%d restored records count as new", n)
	}
}
