package permission

// Disk answers questions of a policy about the disk. One goroutine calls it during a decision, and it must answer
// quickly. Package ondisk implements it for the real disk. Without one, no path of a command is known, because it may
// be a link to anywhere.
type Disk interface {
	// Resolve makes a path canonical: it follows links and .. like the system, even if the rest of the path doesn't
	// exist yet.
	Resolve(path string) string
	// Exists reports whether there is something at a resolved path.
	Exists(path string) bool
	// Git returns the top of the working tree of the repository that git would use in dir, a resolved directory; "" if
	// there is none, and a program that its configuration would run. known is false if that couldn't be determined.
	Git(dir string) (top, program string, known bool)
	// Repository reports whether a path in the workspace is in a directory that git takes for a repository by its
	// entries, or would if the path existed.
	Repository(path string) bool
	// Tracked calls visit with the path of each file in the index of the repository around dir, until it returns false.
	// known is false if that couldn't be determined.
	Tracked(dir string, visit func(path string) bool) (known bool)
}
