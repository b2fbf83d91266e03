package fenced

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	for name, tt := range map[string]struct {
		page string
		want []Block
	}{
		"none":           {"text\n", nil},
		"two":            {"```sh\na\nb\n```\n\n<!-- not run -->\n```json\r\n{}\r\n```\n", []Block{{2, "sh", "a\nb\n", ""}, {8, "json", "{}\n", "not run"}}},
		"a fence inside": {"````markdown\n```sh\nx\n```\n````\n", []Block{{2, "markdown", "```sh\nx\n```\n", ""}}},
		"not closed":     {"```\nx", []Block{{2, "", "x\n", ""}}},
		"a note apart":   {"<!-- x -->\n\n```\n```\n", []Block{{4, "", "", ""}}},
	} {
		if diff := cmp.Diff(tt.want, Parse(tt.page)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}
