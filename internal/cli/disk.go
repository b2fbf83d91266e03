package cli

import "github.com/adze-dev/adze/internal/disk"

// policyDisk is what the policy asks about the disk. Where it would leave links aside, they are looked at all the same.
type policyDisk struct{ *disk.Disk }

func newPolicyDisk(roots []string) policyDisk {
	return policyDisk{disk.New(disk.Options{Roots: roots})}
}

// Secret names a secret that a search through a folder would read.
func (d policyDisk) Secret(dir string, _ bool) string { return d.Disk.Secret(dir) }
