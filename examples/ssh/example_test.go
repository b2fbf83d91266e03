package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/adze-dev/adze"
	"github.com/adze-dev/adze/tool"
)

func TestMain(m *testing.M) {
	adze.Main()
	os.Exit(m.Run())
}

// host is a machine with sshd, on loopback, which runs the commands of its clients.
type host struct {
	env  []string
	port string
}

func serve(t *testing.T, env []string) host {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	config := &ssh.ServerConfig{NoClientAuth: true}
	config.AddHostKey(signer)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	_, port, _ := net.SplitHostPort(l.Addr().String())
	h := host{env, port}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go h.connection(conn, config)
		}
	}()
	return h
}

func (h host) connection(conn net.Conn, config *ssh.ServerConfig) {
	server, channels, requests, err := ssh.NewServerConn(conn, config)
	if err != nil {
		return
	}
	defer server.Close()
	go ssh.DiscardRequests(requests)
	for c := range channels {
		if channel, requests, err := c.Accept(); err == nil {
			go h.session(channel, requests)
		}
	}
}

// session runs the command of a session as sshd does: by a shell.
func (h host) session(channel ssh.Channel, requests <-chan *ssh.Request) {
	defer channel.Close()
	for r := range requests {
		if r.Type != "exec" {
			_ = r.Reply(false, nil)
			continue
		}
		_ = r.Reply(true, nil)
		cmd := exec.Command("sh", "-c", string(r.Payload[4:]))
		cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = h.env, channel, channel, channel.Stderr()
		err := cmd.Run()
		var code *exec.ExitError
		status := make([]byte, 4)
		if errors.As(err, &code) {
			binary.BigEndian.PutUint32(status, uint32(code.ExitCode()))
		}
		_, _ = channel.SendRequest("exit-status", false, status)
		return
	}
}

// A model works on another machine: its edit is a question here, and happens there.
func TestSSH(t *testing.T) {
	client, err := exec.LookPath("ssh")
	if err != nil {
		t.Skip("no ssh")
	}
	program := filepath.Join(t.TempDir(), "adze")
	build := exec.Command("go", "build", "-C", "../..", "-o", program, "./cmd/adze")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, allowed := range map[string]bool{"approved": true, "denied": false} {
		t.Run(name, func(t *testing.T) {
			dir, here := t.TempDir(), t.TempDir()
			t.Chdir(here)
			h := serve(t, []string{"HOME=" + t.TempDir(), "PATH=" + filepath.Dir(program) + ":" + os.Getenv("PATH")})
			questions := 0
			ask := func(_ context.Context, r tool.Request, _ tool.Decision) (tool.Decision, error) {
				if questions++; allowed {
					return tool.Decision{Verdict: tool.Allow}, nil
				}
				return tool.Decision{}, nil
			}
			var out bytes.Buffer
			err := run(t.Context(), &out, ask, client, "-F", "none", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null",
				"-p", h.port, "127.0.0.1", "adze", "mcp", "serve", "--cwd", dir)
			if err != nil || !strings.Contains(out.String(), "I wrote note.txt.") || questions != 2 {
				t.Errorf("%v, %d questions\n%s", err, questions, &out)
			}
			for _, file := range []string{"note.txt", "system.txt"} {
				if _, err := os.Stat(filepath.Join(dir, file)); (err == nil) != allowed {
					t.Errorf("%s there: %v", file, err)
				}
			}
			if left, _ := os.ReadDir(here); len(left) > 0 {
				t.Errorf("files here: %v", left)
			}
		})
	}
}
