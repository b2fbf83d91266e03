package cli

import (
	"github.com/adze-dev/adze/internal/disk"
	"github.com/adze-dev/adze/permission/shell"
)

// newPolicyDisk is what the policy asks about the disk. What git is told otherwise anyway is no reason to ask.
func newPolicyDisk(roots []string) *disk.Disk {
	return disk.New(disk.Options{Roots: roots, Overruled: shell.Overruled()})
}
