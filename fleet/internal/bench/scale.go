package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/adze-dev/adze/fleet/internal/queue"
)

// served is 'adze-fleet server' as a process, and a connection to it.
type served struct {
	*queue.Queue
	process *exec.Cmd
}

// serve starts the program's server with the data of a directory.
func serve(ctx context.Context, binary, dir string) (*served, error) {
	c := exec.CommandContext(ctx, binary, "server", "--dir", dir)
	c.Env = append(os.Environ(), "HOME="+dir, "ADZE_HOME="+filepath.Join(dir, ".adze"))
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	s := &served{process: c}
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		s.kill()
		return nil, fmt.Errorf("the server doesn't start: %w", err)
	}
	url = strings.TrimSpace(url)
	s.Queue, err = queue.Connect(ctx, queue.Options{URL: url, Token: queue.TokenOf(filepath.Join(dir, "queue"), url)})
	if err != nil {
		s.kill()
		return nil, err
	}
	return s, nil
}

// kill kills the server like a crash.
func (s *served) kill() {
	if s.Queue != nil {
		s.Close()
	}
	_ = s.process.Process.Kill()
	_ = s.process.Wait()
}

// memory returns the peak memory of the server.
func (s *served) memory() float64 { return memory(fmt.Sprint(s.process.Process.Pid), "VmHWM") }

// scale measures the server's memory with many sessions, and its restart after kill -9.
func (b *bench) scale(ctx context.Context, binary string) error {
	binary, err := filepath.Abs(binary)
	if err != nil {
		return err
	}
	dir, err := b.sub("scale")
	if err != nil {
		return err
	}
	s, err := serve(ctx, binary, dir)
	if err != nil {
		return err
	}
	took, err := b.parallel(ctx, s.Queue, 128, 100_000, 10)
	limit := s.memory()
	s.kill()
	if err != nil {
		return err
	}
	b.row("1,000,000 entries of 100,000 sessions", fmt.Sprint(took.Round(time.Second), ", ", perSecond(1_000_000, took)), "")
	began := time.Now()
	if s, err = serve(ctx, binary, dir); err != nil {
		return err
	}
	defer s.kill()
	if err := b.write(ctx, s.Queue, "after", 1); err != nil {
		return err
	}
	b.row("restart with them after kill -9, to the first append", fmt.Sprint(time.Since(began).Round(10*time.Millisecond)), "under 20 s")
	l, err := s.OpenLog(ctx, "r", "s99999")
	if err != nil {
		return err
	}
	if len(l.Entries) != 10 {
		return errors.New("entries are missing after the restart")
	}
	b.row("memory of the server: most while writing, most after the restart", fmt.Sprintf("%.0f MB, %.0f MB", limit, s.memory()), "under 400 MB")
	return nil
}
