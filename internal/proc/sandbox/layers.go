package sandbox

import "strings"

// Layers is a set of the means that boxes are made of.
type Layers uint8

// The layers.
const (
	Landlock Layers = 1 << iota
	Seccomp
	Notify     // the box is told what seccomp refuses; without it only the command is
	Namespaces // user, mount, IPC and network namespaces
	Bubblewrap
	Seatbelt
	PIDs // with Namespaces: process numbers of its own, and a /proc that shows no others
)

var layerNames = []string{"landlock", "seccomp", "notify", "namespaces", "bubblewrap", "seatbelt", "pids"}

// Has reports whether all of more are in the set.
func (l Layers) Has(more Layers) bool { return l&more == more }

// String names the layers: "landlock+seccomp".
func (l Layers) String() string {
	var names []string
	for i, n := range layerNames {
		if l&(1<<i) != 0 && 1<<i != int(Notify) {
			names = append(names, n)
		}
	}
	if names == nil {
		return "none"
	}
	return strings.Join(names, "+")
}
