package proc

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// setIDs tries every way to make a file with a setuid or a setgid bit. It returns an error if none worked.
func setIDs(in string) error {
	ways := map[string]func(path string, mode uint32) error{
		"chmod": func(path string, mode uint32) error {
			return existing(path, func(int) error { return unix.Chmod(path, mode) })
		},
		"fchmod": func(path string, mode uint32) error {
			return existing(path, func(fd int) error { return unix.Fchmod(fd, mode) })
		},
		"fchmodat": func(path string, mode uint32) error {
			return existing(path, func(int) error { return unix.Fchmodat(unix.AT_FDCWD, path, mode, 0) })
		},
		"fchmodat2": func(path string, mode uint32) error {
			return existing(path, func(int) error { return unix.Fchmodat(unix.AT_FDCWD, path, mode, unix.AT_SYMLINK_NOFOLLOW) })
		},
		"/proc": func(path string, mode uint32) error {
			return existing(path, func(fd int) error { return unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", fd), mode) })
		},
		"open": func(path string, mode uint32) error {
			return opening(unix.Open(path, unix.O_CREAT|unix.O_WRONLY, mode))
		},
		"creat":   func(path string, mode uint32) error { return opening(unix.Creat(path, mode)) },
		"mknod":   func(path string, mode uint32) error { return unix.Mknod(path, unix.S_IFREG|mode, 0) },
		"mknodat": func(path string, mode uint32) error { return unix.Mknodat(unix.AT_FDCWD, path, unix.S_IFREG|mode, 0) },
		"openat2": func(path string, mode uint32) error {
			return opening(unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: unix.O_CREAT | unix.O_WRONLY, Mode: uint64(mode)}))
		},
		"temporary file": func(path string, mode uint32) error {
			fd, err := unix.Open(in, unix.O_TMPFILE|unix.O_WRONLY, mode)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			from := fmt.Sprintf("/proc/self/fd/%d", fd)
			return unix.Linkat(unix.AT_FDCWD, from, unix.AT_FDCWD, path, unix.AT_SYMLINK_FOLLOW)
		},
	}
	unix.Umask(0)
	var worked []string
	var failed error
	for name, way := range ways {
		for _, mode := range []uint32{0o4755, 0o2755, 0o6777} {
			path := in + "/setid"
			os.Remove(path)
			failed = way(path, mode)
			if info, err := os.Lstat(path); err == nil && info.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0 {
				worked = append(worked, fmt.Sprintf("%s %#o", name, mode))
			}
		}
	}
	os.Remove(in + "/setid")
	if len(worked) == 0 {
		return errors.Join(errors.New("no way worked"), failed)
	}
	if len(worked) < 3*len(ways) {
		fmt.Fprintln(os.Stderr, "worked:", worked)
	}
	return nil
}

func existing(path string, do func(fd int) error) error {
	fd, err := unix.Open(path, unix.O_CREAT|unix.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return do(fd)
}

func opening(fd int, err error) error {
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// setgidDirectory gives a new directory the setgid bit by each call.
func setgidDirectory(path string) error {
	defer os.Remove(path)
	if err := os.Mkdir(path, 0o755); err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	for i, set := range []func() error{
		func() error { return unix.Chmod(path, 0o2755) },
		func() error { return unix.Fchmod(int(f.Fd()), 0o2755) },
		func() error { return unix.Fchmodat(unix.AT_FDCWD, path, 0o2755, 0) },
		func() error { return unix.Fchmodat(unix.AT_FDCWD, path, 0o2755, unix.AT_SYMLINK_NOFOLLOW) },
	} {
		if err := unix.Chmod(path, 0o755); err != nil {
			return err
		}
		if err := set(); err != nil {
			return err
		}
		if info, err := f.Stat(); err != nil || info.Mode()&os.ModeSetgid == 0 {
			return fmt.Errorf("%d: mode %v, %v", i, info.Mode(), err)
		}
	}
	return nil
}
