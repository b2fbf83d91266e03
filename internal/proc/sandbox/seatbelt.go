package sandbox

import (
	"fmt"
	"path/filepath"
	"strings"
)

// seatbeltProfile is a box in the language of macOS's sandbox-exec, in which
// the last matching rule counts.
func (s *Spec) seatbeltProfile(temp string) string {
	var b strings.Builder
	b.WriteString("(version 1)\n(allow default)\n(deny file-write*)\n")
	write := append([]string{"/dev/null", "/dev/zero", "/dev/tty", "/dev/dtracehelper"}, s.writable()...)
	if temp != "" {
		write = append(write, temp)
	}
	for _, w := range write {
		// What seatbelt compares is the resolved path: /tmp is /private/tmp.
		if real, err := filepath.EvalSymlinks(w); err == nil {
			w = real
		}
		fmt.Fprintf(&b, "(allow file-write* (subpath %s))\n", seatbeltString(w))
	}
	for _, p := range s.Protect {
		if dir, err := filepath.EvalSymlinks(filepath.Dir(p)); err == nil {
			p = filepath.Join(dir, filepath.Base(p))
		}
		fmt.Fprintf(&b, "(deny file-write* (subpath %s))\n", seatbeltString(p))
		// Nor may the folder above be moved away with it.
		fmt.Fprintf(&b, "(deny file-write-unlink (literal %s))\n", seatbeltString(filepath.Dir(p)))
	}
	if !s.network() {
		b.WriteString("(deny network*)\n")
		if s.Mode == Workspace {
			b.WriteString("(allow network* (local ip \"localhost:*\"))\n(allow network* (remote ip \"localhost:*\"))\n")
		}
	}
	if s.UnixSockets {
		b.WriteString("(allow network* (remote unix-socket))\n")
	}
	b.WriteString("(deny process-info* (target others))\n(deny signal (target others))\n(allow signal (target same-sandbox))\n(deny mach-priv*)\n(deny system-privilege)\n")
	return b.String()
}

func seatbeltString(path string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(path) + `"`
}

// seatbeltArgs is the command line up to the command.
func (s *Spec) seatbeltArgs(temp string) []string {
	return []string{"/usr/bin/sandbox-exec", "-p", s.seatbeltProfile(temp)}
}
