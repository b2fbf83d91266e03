package secretfiles

import (
	"io/fs"
	"path/filepath"
	"time"

	"github.com/adze-dev/adze/internal/workspace/names"
)

type Options struct {
	Roots, Once []string
	Hide        func(path string, tracked func() bool) bool
	Limit, Most int
}
type Finder struct{ o Options }

func New(o Options) *Finder { return &Finder{o} }
func (f *Finder) Start()    {}
func (f *Finder) List(time.Duration) (out []string, ok bool) {
	for _, r := range f.o.Roots {
		filepath.WalkDir(r, func(p string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				if f.o.Hide != nil && f.o.Hide(p, func() bool { return false }) {
					out = append(out, p)
				} else if _, s := names.Secret(p); f.o.Hide == nil && s {
					out = append(out, p)
				}
			}
			return nil
		})
	}
	return out, true
}
func (f *Finder) Invalidate()     {}
func (f *Finder) Close()          {}
func (f *Finder) Problem() string { return "" }
