package peers

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/textproto"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"
)

// goplsTimer is the argument with which this test program runs a language server, and writes when it got and answered each
// request.
const goplsTimer = "gopls-timer"

func timeServer(program, log string) error {
	file, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	cmd := exec.Command(program)
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	var mu sync.Mutex
	asked := map[string]time.Time{}
	pump := func(from io.Reader, to io.Writer, seen func(id string, request bool)) error {
		r := bufio.NewReader(from)
		for {
			header, err := textproto.NewReader(r).ReadMIMEHeader()
			if err != nil {
				return err
			}
			size, err := strconv.Atoi(header.Get("Content-Length"))
			if err != nil {
				return err
			}
			body := make([]byte, size)
			if _, err := io.ReadFull(r, body); err != nil {
				return err
			}
			var m struct {
				ID     json.RawMessage
				Method string
			}
			if err := json.Unmarshal(body, &m); err != nil {
				return err
			}
			if m.ID != nil {
				mu.Lock()
				seen(string(m.ID), m.Method != "")
				mu.Unlock()
			}
			if _, err := fmt.Fprintf(to, "Content-Length: %d\r\n\r\n%s", size, body); err != nil {
				return err
			}
		}
	}
	go func() {
		pump(os.Stdin, in, func(id string, request bool) {
			if request {
				asked[id] = time.Now()
			}
		})
		in.Close()
	}()
	pump(out, os.Stdout, func(id string, request bool) {
		if at, ok := asked[id]; ok && !request {
			fmt.Fprintln(file, at.UnixNano(), time.Now().UnixNano())
			delete(asked, id)
		}
	})
	return cmd.Wait()
}
