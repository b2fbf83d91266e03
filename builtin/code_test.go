package builtin

import (
	"encoding/json"
	"testing"
)

// The tool code adds at most 1.5 KB to each request, and only where there are language servers.
func TestSizeOfCode(t *testing.T) {
	size := func(o Options) (bytes int) {
		o.Dir, o.Session, o.Imagined = t.TempDir(), true, true
		s, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for _, one := range s.Tools() {
			text, err := json.Marshal(one.Declaration())
			if err != nil {
				t.Fatal(err)
			}
			bytes += len(text)
		}
		return bytes
	}
	without := size(Options{})
	if more := size(Options{Servers: []LanguageServer{{Name: "x"}}}) - without; more < 500 || more > 1536 {
		t.Errorf("%d bytes more than %d", more, without)
	}
}
