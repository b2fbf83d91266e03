package search

import (
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"
)

// A search that ends early must close the directories it held open for their children.
func TestNoDescriptorIsLeft(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("descriptors are counted in /proc")
	}
	count := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip(err)
		}
		return len(entries)
	}
	files := map[string]string{}
	for i := range 600 {
		files[fmt.Sprintf("d%d/e%d/f%d/g", i%5, i%60, i)] = "foo\n"
	}
	top := tree(t, files)
	p := mustCompile(t, Query{Pattern: "foo"})
	before := count()
	for i := range 40 {
		req := GrepRequest{Scope: Scope{Paths: []string{top}}, Pattern: p}
		if i%2 == 0 {
			req.Timeout = time.Duration(i) * 50 * time.Microsecond
		} else {
			req.Enough = 1 + i
		}
		if _, err := Grep(t.Context(), req); err != nil {
			t.Fatal(err)
		}
	}
	if after := count(); after > before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}
