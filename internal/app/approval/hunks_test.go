package approval_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/app/approval"
	"github.com/adze-dev/adze/tool"
)

// Some hunks of a file give the call a content with them.
func TestHunks(t *testing.T) {
	const old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n"
	for name, c := range map[string]struct {
		old, now string
		parts    int
		take     []bool
		want     []string
	}{
		"the first":       {old, "one\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\ntwelve\n", 2, []bool{true, false}, []string{strings.Replace(old, "1\n", "one\n", 1)}},
		"the second":      {old, "one\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\ntwelve", 2, []bool{false, true}, []string{strings.Replace(old, "12\n", "twelve", 1)}},
		"all":             {old, "one\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\ntwelve\n", 2, []bool{true, true}, nil},
		"without newline": {"1\r\n2\n3\n4\n5\n6\n7\n8\n9", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", 2, []bool{false, true}, []string{"1\r\n2\n3\n4\n5\n6\n7\n8\n9\n"}},
		"a new file":      {"", old, 1, []bool{true}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			d := tool.FileDiff{File: "a", New: c.now}
			if c.old != "" {
				d.Original = &c.old
			}
			var got []string
			q := approval.Rules{}.Question(tool.Request{Invocation: tool.Invocation{Confirm: d, Rework: func(texts ...*string) json.RawMessage {
				for _, text := range texts {
					got = append(got, *text)
				}
				return json.RawMessage("{}")
			}}}, tool.Decision{})
			if len(q.Parts) != c.parts || q.Parts[0].File != "" {
				t.Fatalf("%+v", q.Parts)
			}
			if _, err := q.Decide(approval.Answer{Act: approval.Parts, Take: c.take}); err != nil || !slices.Equal(got, c.want) {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}
