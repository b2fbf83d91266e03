package sandbox

import (
	"errors"
	"os"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// On some systems a user namespace gives capabilities only to named programs, such as with
// kernel.apparmor_restrict_unprivileged_userns on Ubuntu, and bubblewrap is one of them. There it starts the process
// that tries commands, in namespaces that it creates. Everything else is as without bubblewrap: that process mounts the
// overlays itself, because those of bubblewrap lack guarantees that trials need. Bubblewrap looks up lowers by path, so
// a replaced one would go unnoticed; it can't mount parts of an overlay; and without capabilities inside there is no
// resolver, and directories can't be moved. If the system takes the capabilities from processes that bubblewrap starts,
// commands aren't tried.

// LauncherArgs returns the command line, up to the program, with which bubblewrap starts a program in the namespaces of
// Apart{PIDs, Trial}, with the capabilities of a process that tries commands. With dies it dies with the thread that
// starts bubblewrap.
func LauncherArgs(dies bool) ([]string, error) {
	bwrap, why := findBubblewrap()
	if why != "" {
		return nil, errors.New(why)
	}
	args := []string{bwrap, "--unshare-user", "--unshare-pid", "--as-pid-1", "--dev-bind", "/", "/", "--chdir", "/"}
	for _, c := range slices.Concat(capabilities(), trialCapabilities()) {
		args = append(args, "--cap-add", capabilityNames[c])
	}
	if dies {
		args = append(args, "--die-with-parent")
	}
	return append(args, "--"), nil
}

var capabilityNames = map[uintptr]string{
	unix.CAP_SYS_ADMIN: "CAP_SYS_ADMIN", unix.CAP_NET_ADMIN: "CAP_NET_ADMIN", unix.CAP_SETPCAP: "CAP_SETPCAP",
	unix.CAP_SYS_PTRACE:   "CAP_SYS_PTRACE",
	unix.CAP_DAC_OVERRIDE: "CAP_DAC_OVERRIDE", unix.CAP_FOWNER: "CAP_FOWNER", unix.CAP_CHOWN: "CAP_CHOWN",
	unix.CAP_MKNOD:  "CAP_MKNOD",
	unix.CAP_FSETID: "CAP_FSETID", unix.CAP_NET_BIND_SERVICE: "CAP_NET_BIND_SERVICE",
	unix.CAP_SYS_CHROOT: "CAP_SYS_CHROOT",
}

// launches returns the support after bubblewrap was tried as a launcher. Root doesn't use it: bubblewrap maps one user,
// and root's workspaces have files of others.
func (s Support) launches() Support {
	if os.Getuid() != 0 {
		s.LauncherWhy = launcherFails()
		s.Launcher = s.LauncherWhy == ""
	}
	return s
}

var launcherFails = sync.OnceValue(func() string {
	args, err := LauncherArgs(false)
	if err != nil {
		return err.Error()
	}
	return failure(args)
})
