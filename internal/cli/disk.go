package cli

import "github.com/adze-dev/adze/internal/disk"

// newPolicyDisk is what the policy asks about the disk.
func newPolicyDisk(roots []string) *disk.Disk {
	return disk.New(disk.Options{Roots: roots})
}
