package settings

import (
	"encoding/json"
	"fmt"
	"strings"
)

// putFileNames takes what context files are called: one name, or a list of them. A later file's replaces it.
func putFileNames(s *Settings, g given) (note string, err error) {
	var one string
	names := []Entry{}
	if json.Unmarshal(g.json(), &one) == nil {
		names = append(names, Entry{one, g.from})
	} else if _, err := entries(func(*Settings) *[]Entry { return &names })(s, g); err != nil {
		return "", mustBe("a file's name, or a list of them", g)
	}
	s.Context.FileNames = nil
	for _, e := range names {
		if e.Text == "" || e.Text == "." || e.Text == ".." || strings.ContainsAny(e.Text, "/\\\x00") {
			note = fmt.Sprintf("%q is not a file name without a directory, ignored", e.Text)
			continue
		}
		s.Context.FileNames = append(s.Context.FileNames, e)
	}
	return note, nil
}
