package permission

// Disk is what a policy may want to know of the disk to judge a command. It is asked while a call is judged, by one
// goroutine, so it answers at once. Package ondisk has one for the real disk. Without one, every command that names a
// path requires approval, because the path may be a link to anywhere, and so does git.
type Disk interface {
	// Resolve makes a path canonical: links and .. are followed as the system would, also where the rest of the path
	// does not exist yet.
	Resolve(path string) string
	// Glob lists what a pattern of the shell stands for now. ok is false if there is too much to list.
	Glob(pattern string) (paths []string, ok bool)
	// Git names a program that the configuration of the repository around dir would run. known is false if that could
	// not be found out.
	Git(dir string) (program string, known bool)
	// Worktree is the top of the working tree of the repository that git would use in dir, a resolved directory; "" if
	// there is none. known is false if that could not be found out.
	Worktree(dir string) (top string, known bool)
	// Program is the file that a shell runs for the name of a program, with links followed; "" if there is none. path is
	// a PATH.
	Program(path, name string) string
	// Tracked gives visit the path of each file that git has in the index of the repository around dir, until it returns
	// false. known is false if that could not be found out.
	Tracked(dir string, visit func(path string) bool) (known bool)
	// Secret names a secret file below dir that a search through it would read; "" if there is none. known is false if
	// there is too much to look at.
	Secret(dir string, s Search) (name string, known bool)
}

// Search is what a search through a directory looks at.
type Search struct {
	// Links: what links lead to is looked at too. A link that leads neither into the workspace nor into the directories of
	// the system is reported by its target, secret or not.
	Links bool
	// Tracked: only what git has in its index is looked at, whether it is on disk or not.
	Tracked bool
}
