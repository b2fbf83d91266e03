package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// mcpClient is an MCP client for script tests: mcpclient FILE COMMAND... sends the messages in a file to a server,
// prints the server's messages, and closes its input after the last response. With the file as its input, a server only
// has a short time for the last responses.
func mcpClient() {
	if err := converse(os.Args[1], os.Args[2:]); err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			os.Exit(exit.ExitCode())
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func converse(file string, command []string) error {
	messages, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stderr = os.Stderr
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
	go in.Write(messages)
	open := 0 // requests without a response
	for line := range bytes.Lines(messages) {
		if id, method := envelope(line); id && method {
			open++
		}
	}
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		os.Stdout.Write(line)
		if err != nil {
			return cmd.Wait()
		}
		if id, method := envelope(line); id && !method {
			open--
		}
		if open == 0 {
			in.Close()
		}
	}
}

// envelope reports whether a message has an ID and a method: a request has both, a response only an ID.
func envelope(line []byte) (id, method bool) {
	var m struct {
		ID     json.RawMessage
		Method string
	}
	err := json.Unmarshal(line, &m)
	return err == nil && m.ID != nil, m.Method != ""
}
