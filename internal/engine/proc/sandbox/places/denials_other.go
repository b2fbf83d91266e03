//go:build !linux

package places

// linkCache is empty: deny rules are only enforced on Linux.
type linkCache struct{}

func (d *Denials) withAliases(paths []string, _ *linkCache) []string { return paths }
