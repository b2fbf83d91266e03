package builtin

import (
	"errors"

	"github.com/adze-dev/adze/internal/ignore"
	"github.com/adze-dev/adze/internal/workspace"
	"github.com/adze-dev/adze/tool"
)

// files is what the file tools share in one session.
type files struct {
	ws     *workspace.Workspace
	ignore *ignore.Rules
	seen   *workspace.Seen
	state  string // for the old content of files written in place
}

func newFiles(o Options) (*files, error) {
	ws, err := workspace.Open(append([]string{o.Dir}, o.AddDirs...)...)
	if err != nil {
		return nil, err
	}
	return &files{
		ws:     ws,
		ignore: ignore.New(ignore.Options{Roots: ws.Roots()}),
		seen:   &workspace.Seen{AtFirstSight: o.AllRead},
		state:  o.State,
	}, nil
}

// path makes a parameter canonical, and refuses what an AI ignore file refuses.
func (f *files) path(param, name string, kind ignore.Kind) (workspace.Path, error) {
	p, err := f.ws.Resolve(name)
	var bad *workspace.NameError
	if errors.As(err, &bad) {
		return p, tool.BadParam(param, "%v", bad)
	}
	if err != nil {
		return p, err
	}
	for _, path := range []string{p.Abs, p.Given} {
		if v := f.ignore.Check(path, kind); v.State == ignore.Refused {
			return p, tool.Errorf(tool.ExecutionDenied, "%v", v)
		}
	}
	return p, nil
}
