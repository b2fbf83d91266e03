package trial

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/adze-dev/adze/internal/dev/serial"
	"github.com/adze-dev/adze/internal/engine/proc"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
)

// chunk is how much a way to use disk or memory uses at a time, and maxUsed how much in all.
const (
	chunk   = 4 << 20
	maxUsed = 2 << 30
)

// ways to use disk space or memory, a chunk at a time. What they create stays until the process ends.
var ways = map[string]func(n int) error{
	"a file":       func(int) error { return appending("big", func(fd int) error { return writeChunk(fd) }) },
	"files":        func(n int) error { return creating(n, false, writeChunk) },
	"open files":   func(n int) error { return creating(n, true, writeChunk) },
	"small files":  smallFiles,
	"mapped files": func(n int) error { return creating(n, false, mapChunk) },
	"closed maps":  func(n int) error { return closing(n, mapChunk, nil) },
	"sent away":    func(n int) error { return closing(n, writeChunk, away) },
	"sendfile": func(n int) error {
		return copying(n, func(to, from int) (int, error) { return unix.Sendfile(to, from, new(int64), chunk) })
	},
	"copied": func(n int) error {
		return copying(n, func(to, from int) (int, error) { return unix.CopyFileRange(from, new(int64), to, nil, chunk, 0) })
	},
	"memory":        func(int) error { return touch(unix.MAP_PRIVATE|unix.MAP_ANON, -1) },
	"shared memory": func(int) error { return touch(unix.MAP_SHARED|unix.MAP_ANON, -1) },
	"memory files": func(int) error {
		fd, err := unix.MemfdCreate("x", 0)
		return errors.Join(err, writeChunk(fd))
	},
	"segments": segment,
	"/dev/shm": func(n int) error {
		fd, err := unix.Open(fmt.Sprint("/dev/shm/", n), unix.O_CREAT|unix.O_WRONLY, 0o600)
		return errors.Join(err, writeChunk(fd))
	},
}

// useTool uses as much as it can, and prints how much that is by now.
func useTool(way string) int {
	unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) // closes its directory in /proc
	for n := range maxUsed / chunk {
		if err := ways[way](n); err != nil {
			fmt.Println("failed:", err)
			return 1
		}
		if inMemory(way) {
			// Memory can be taken faster than a busy machine runs the supervisor.
			time.Sleep(10 * time.Millisecond) // not synchronization: a program that takes 400 MB a second
		}
		fmt.Println(int64(n+1) * chunk)
	}
	select {} // until it is stopped
}

// inMemory reports whether a way uses memory, not disk space.
func inMemory(way string) bool {
	return strings.Contains(way, "mem") || way == "segments" || way == "/dev/shm"
}

func writeChunk(fd int) error {
	_, err := unix.Write(fd, make([]byte, chunk))
	return err
}

func mapChunk(fd int) error {
	if err := unix.Ftruncate(fd, chunk); err != nil {
		return err
	}
	return touch(unix.MAP_SHARED, fd)
}

func touch(flags, fd int) error {
	b, err := unix.Mmap(fd, 0, chunk, unix.PROT_READ|unix.PROT_WRITE, flags)
	for i := 0; i < len(b); i += 4096 {
		b[i] = 1
	}
	return err
}

func appending(name string, use func(fd int) error) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(use(int(f.Fd())), f.Close())
}

// creating uses a new file, which stays open without a name, or is closed.
func creating(n int, deleted bool, use func(fd int) error) error {
	fd, err := unix.Open(fmt.Sprint("f", n), unix.O_CREAT|unix.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	if deleted {
		return errors.Join(os.Remove(fmt.Sprint("f", n)), use(fd))
	}
	return errors.Join(use(fd), unix.Close(fd))
}

// closing uses a new file that no directory and no descriptor shows then.
func closing(n int, use func(fd int) error, last func(fd int) error) error {
	return creating(n, true, func(fd int) error {
		err := use(fd)
		if last != nil {
			err = errors.Join(err, last(fd))
		}
		return errors.Join(err, unix.Close(fd))
	})
}

// away sends a descriptor through a socket that no process reads.
func away(fd int) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	return unix.Sendmsg(pair[0], []byte{0}, unix.UnixRights(fd), nil, 0)
}

func smallFiles(n int) error {
	for i := range chunk / 4096 {
		if err := os.WriteFile(fmt.Sprint("f", n, "-", i), []byte("x"), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func copying(n int, copied func(to, from int) (int, error)) error {
	if _, err := os.Lstat("from"); err != nil {
		if err := appending("from", writeChunk); err != nil {
			return err
		}
	}
	from, err := os.Open("from")
	if err != nil {
		return err
	}
	defer from.Close()
	return creating(n, false, func(fd int) error {
		got, err := copied(fd, int(from.Fd())) // less than a chunk if the supervisor stops the process meanwhile
		if err == nil && got == 0 {
			err = errors.New("nothing was copied")
		}
		return err
	})
}

// segment uses System V shared memory that no process has attached then.
func segment(int) error {
	id, err := unix.SysvShmGet(unix.IPC_PRIVATE, chunk, unix.IPC_CREAT|0o600)
	if err != nil {
		return err
	}
	b, err := unix.SysvShmAttach(id, 0, 0)
	if err != nil {
		return err
	}
	for i := 0; i < len(b); i += 4096 {
		b[i] = 1
	}
	return unix.SysvShmDetach(b)
}

// A command that uses too much disk space or memory is stopped before it exceeds the limit by 512 MB, whatever it uses it for.
func TestUsage(t *testing.T) {
	serial.Test(t)
	const over = 512 << 20
	const bytes, memory = 32 << 20, 192 << 20
	for way := range ways {
		t.Run(way, func(t *testing.T) {
			o, limit, want := Options{Bytes: bytes}, int64(bytes), "it wrote more than 32 MB"
			if inMemory(way) {
				o, limit, want = Options{Memory: memory}, memory, "it used more than 192 MB of memory"
			}
			b := opened(t, o)
			tr, out, _ := b.tryWith(proc.Command{Line: testProgram(t) + " use '" + way + "'", Timeout: time.Minute}, nil)
			defer tr.Drop()
			last := int64(0)
			for _, word := range strings.Fields(out.Output.Head + out.Output.Tail) {
				if n, err := strconv.ParseInt(word, 10, 64); err == nil {
					last = n
				}
			}
			t.Logf("%d MB, %q", last>>20, out.Limit)
			full := way == "/dev/shm" && strings.Contains(out.Output.Tail+out.Output.Head, "no space left")
			if out.Limit != want && !full || last > limit+over {
				t.Errorf("%d MB of %d MB: %q\n%s", last>>20, limit>>20, out.Limit, out.Output.Tail)
			}
		})
	}
}

// fallocate would take any amount of disk space at once. It isn't supported, so that programs write instead.
func TestNoFallocate(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/usr/bin/fallocate"); err != nil {
		t.Skip(err)
	}
	b := opened(t, Options{Bytes: 64 << 20})
	for line, want := range map[string]string{
		"fallocate -l 1M x":                           "supported",
		"touch x; fallocate -n -l 1M x":               "supported",
		"touch x; fallocate -z -l 1M x":               "supported",
		"fallocate -x -l 1M x && stat -c size=%s x":   "size=1048576",
		"head -c 1M /dev/zero > x; fallocate -d x":    "",
		"head -c 1M /dev/zero >x; fallocate -pl 4k x": "",
	} {
		tr, out, _ := b.try(line)
		tr.Drop()
		if got := out.Output.Head; !strings.Contains(got, want) || want == "" && (got != "" || out.Exit != 0) {
			t.Errorf("%s: %+v", line, out)
		}
	}
}

// Temp directories and caches last for the session and count with it. A session over the limit starts with empty ones.
func TestSessionUsage(t *testing.T) {
	t.Parallel()
	temp, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := opened(t, Options{Bytes: 64 << 20, Temp: []string{temp}})
	write := "ls " + temp + "; head -c 24M /dev/zero > " + temp
	for i, c := range []struct {
		name, output, limit string
		emptied             bool
	}{
		{name: "a"}, {name: "b", output: "a\n"}, {name: "c", output: "a\nb\n", limit: "it wrote more than 64 MB"},
		{name: "d", emptied: true}, {name: "e", output: "d\n"},
	} {
		// Files are counted, whatever space other programs free meanwhile.
		b.layers.mu.Lock()
		b.layers.used = max(b.layers.used, b.layers.o.Bytes/2)
		b.layers.mu.Unlock()
		tr, out, e := b.try(write + "/" + c.name)
		tr.Drop()
		if !strings.HasPrefix(out.Output.Head, c.output) || out.Limit != c.limit || e.Emptied != c.emptied {
			t.Errorf("%d: %q %q %v %+v", i, out.Output.Head, out.Limit, e.Emptied, out)
		}
	}
	use, err := sandbox.DiskUse(b.layers.dirs)
	if err != nil || use > 60<<20 {
		t.Errorf("%d MB: %v", use>>20, err)
	}
}

// Space is counted at any depth, in directories without permissions, once for a hard-linked file, and holes aren't.
func TestDiskUse(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	before, err := sandbox.DiskUse([]string{top})
	if err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread() // this thread's working directory is its own, and ends with it
	if err := errors.Join(syscall.Unshare(syscall.CLONE_FS), os.Chdir(top)); err != nil {
		t.Skip(err)
	}
	name := strings.Repeat("d", 200)
	for range 1000 {
		if err := errors.Join(unix.Mkdir(name, 0o700), unix.Chdir(name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := appending("f", func(fd int) error { return errors.Join(writeChunk(fd), unix.Ftruncate(fd, 1<<30)) }); err != nil {
		t.Fatal(err)
	}
	if err := os.Link("f", "g"); err != nil {
		t.Fatal(err)
	}
	after, err := sandbox.DiskUse([]string{top})
	if use := after - before; err != nil || use < chunk || use > chunk+1000*3*4096 {
		t.Errorf("%d bytes, %v", use, err)
	}
}
