package permission

// Place is where a command runs that neither a rule nor the user allowed.
type Place int

// The places, weakest first.
const (
	// None: commands run only as they are. Those that obviously only read run without approval.
	None Place = iota
	// ReadOnly refuses writes, and tells about them.
	ReadOnly
	// Overlay keeps writes apart until they are approved.
	Overlay
)

func (p Place) String() string { return [...]string{"none", "read-only", "overlay"}[p] }
