package session

import (
	"io"

	"github.com/adze-dev/adze/internal/spill"
	"github.com/adze-dev/adze/tool"
)

// results are where what is too long for the model is kept.
type results struct{ *spill.Dir }

// save keeps the text of a result.
func (r results) save(c tool.Call, text string) (tool.Spilled, error) {
	saved, err := r.Save(c.ID, c.Name, text)
	return tool.Spilled{Path: saved.Path, Dropped: saved.Dropped}, err
}

// output opens a file for a command's output.
func (r results) output(c tool.Call) (io.WriteCloser, string, error) { return r.named(c, c.Name) }

// named opens a file for something of a call.
func (r results) named(c tool.Call, name string) (io.WriteCloser, string, error) {
	f, err := r.Create(c.ID, name)
	if err != nil {
		return nil, "", err
	}
	return f, f.Saved().Path, nil
}

// outputBudget turns the setting, where nothing and less mean no limit, into the executor's.
func outputBudget(threshold int) int {
	if threshold <= 0 {
		return -1
	}
	return threshold
}
