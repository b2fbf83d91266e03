package tool

import (
	"encoding/json"
	"fmt"
)

// FileDiff is the permission prompt and the display of a changed file, in the documented format.
type FileDiff struct {
	Diff     string    // unified diff, complete with whitespace and line endings
	File     string    // base name, for users
	Path     string    // absolute path
	Original *string   // nil: the file is new
	New      string    // the new content
	Stat     *DiffStat // nil: not counted
	Warnings []string  // what the user should know before approving
}

// DiffStat counts what a change adds and removes: the model's proposal, and the user's edits of it.
type DiffStat struct {
	ModelAddedLines   int `json:"model_added_lines"`
	ModelRemovedLines int `json:"model_removed_lines"`
	ModelAddedChars   int `json:"model_added_chars"`
	ModelRemovedChars int `json:"model_removed_chars"`
	UserAddedLines    int `json:"user_added_lines"`
	UserRemovedLines  int `json:"user_removed_lines"`
	UserAddedChars    int `json:"user_added_chars"`
	UserRemovedChars  int `json:"user_removed_chars"`
}

type fileDiffJSON struct {
	Diff     string    `json:"fileDiff"`
	File     string    `json:"fileName"`
	Path     string    `json:"filePath,omitempty"`
	Original *string   `json:"originalContent"`
	New      string    `json:"newContent"`
	Stat     *DiffStat `json:"diffStat,omitempty"`
	Warnings []string  `json:"warnings,omitempty"`
}

// Markdown shows the diff.
func (d FileDiff) Markdown() string {
	s := Fence("diff", d.Diff)
	if d.Diff == "" {
		s = fmt.Sprintf("No change to %s.", code(d.File))
	}
	for _, w := range d.Warnings {
		s += "\nWarning: " + oneLine(w)
	}
	return s
}

// MarshalJSON writes the documented names.
func (d FileDiff) MarshalJSON() ([]byte, error) { return marshal(fileDiffJSON(d)) }

// UnmarshalJSON reads the documented names.
func (d *FileDiff) UnmarshalJSON(b []byte) error {
	var in fileDiffJSON
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	*d = FileDiff(in)
	return nil
}
