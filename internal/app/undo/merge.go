package undo

import (
	"crypto/sha256"
	"io"

	"github.com/adze-dev/adze/internal/engine/edit"
	"github.com/adze-dev/adze/internal/engine/workspace/nofollow"
)

// maxMerged is the maximum size of a file that is merged.
const maxMerged = 4 << 20

// merge reverts a change of a file that has changed since, if the later changes are in other lines: they stay. is is
// the state so far; now is the one on disk.
func (p *Plan) merge(c Change, now, is State) (State, bool) {
	to := State{Mode: is.Mode}
	switch {
	case !is.isFile() || !c.Before.isFile() || !c.After.isFile():
		return to, false
	case is.Mode == c.After.Mode:
		to.Mode = c.Before.Mode
	case c.Before.Mode != c.After.Mode && is.Mode != c.Before.Mode:
		return to, false
	}
	var texts [3]string
	for i, s := range []State{c.After, is, c.Before} {
		var content []byte
		var err error
		switch merged, ok := p.merged[s.Is]; {
		case ok:
			content = merged
		case s.Is == now.Is:
			content, err = readNow(c.Path)
		case p.store.size(s.Is) <= maxMerged:
			content, err = p.store.Get(s.Is)
		default:
			return to, false
		}
		h, _ := parse(s.Is)
		if err != nil || len(content) > maxMerged || edit.Binary(content) || sha256.Sum256(content) != h {
			return to, false
		}
		texts[i] = string(content)
	}
	merged, ok := edit.Merge(texts[0], texts[1], texts[2])
	if !ok {
		return to, false
	}
	to.Is = name(sha256.Sum256([]byte(merged)))
	if p.merged == nil {
		p.merged = map[string][]byte{}
	}
	p.merged[to.Is] = []byte(merged)
	return to, true
}

func readNow(path string) ([]byte, error) {
	f, err := nofollow.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxMerged+1))
}
