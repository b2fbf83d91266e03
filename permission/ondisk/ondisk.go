// Package ondisk answers what a policy wants to know of the disk, from the disk itself.
//
//	world := permission.World{Roots: roots, Home: home, Disk: ondisk.New(roots)}
//
// It only looks: at links, at the names that a pattern stands for, at the files in which git keeps its settings. What
// would take too long it says it does not know. What was looked at once in a judgement is not looked at again in it.
package ondisk

import (
	"github.com/adze-dev/adze/internal/disk"
	"github.com/adze-dev/adze/permission"
)

// New is the disk as a policy over these folders asks about it.
func New(roots []string) func() permission.Disk {
	d := disk.New(disk.Options{
		Roots: roots,
		// Honest repositories have these, and no command that only reads a repository and prints into a pipe uses them.
		Overruled: []string{"core.pager", "core.sshCommand", "core.askPass", "credential.helper"},
	})
	return func() permission.Disk { return now{d.Now()} }
}

// now is the disk for one judgement.
type now struct{ *disk.Disk }

func (n now) Secret(dir string, s permission.Search) (name string, known bool) {
	return n.Disk.Secret(dir, disk.Search(s))
}
