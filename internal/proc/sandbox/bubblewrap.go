package sandbox

import (
	"os"
	"path/filepath"
)

// findBubblewrap looks only where the system puts programs: a PATH may lead
// into a workspace.
func findBubblewrap() (path, why string) {
	for _, dir := range []string{"/usr/bin", "/bin", "/usr/local/bin"} {
		p := filepath.Join(dir, "bwrap")
		if st, err := os.Stat(p); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			return p, ""
		}
	}
	return "", "bwrap is in none of /usr/bin, /bin and /usr/local/bin"
}

// bubblewrapArgs is bwrap's command line, up to the command. seccomp is the
// descriptor of a filter, or negative.
func (s *Spec) bubblewrapArgs(bwrap, dir, temp string, protect []string, seccomp string) []string {
	args := []string{bwrap, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--die-with-parent", "--unshare-user-try", "--unshare-ipc"}
	if !s.network() {
		args = append(args, "--unshare-net")
	}
	write := s.writable()
	if temp != "" {
		write = append(write, temp)
	}
	write = outermost(write)
	for _, w := range write {
		args = append(args, "--bind-try", w, w)
	}
	pinned := map[string]bool{} // what is a mount point cannot be moved away
	for _, p := range protect {
		for _, dir := range between(holding(p, write), p) {
			if !pinned[dir] {
				args = append(args, "--bind", dir, dir)
			}
			pinned[dir] = true
		}
		args = append(args, "--ro-bind", p, p)
	}
	if seccomp != "" {
		args = append(args, "--seccomp", seccomp)
	}
	return append(args, "--chdir", dir, "--")
}
