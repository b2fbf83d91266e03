package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/adze-dev/adze/model/openai/openaitest"
)

// partialEvents is how many pieces the measured answer has.
const partialEvents = 20_000

// printPartial measures what a piece of an answer costs from the server to stdout, with and without its own message.
func printPartial(w io.Writer, binary string) error {
	with, err := answerCost(binary, "--include-partial-messages")
	if err != nil {
		return fmt.Errorf("partial events: %w", err)
	}
	without, err := answerCost(binary)
	if err != nil {
		return fmt.Errorf("partial events: %w", err)
	}
	fmt.Fprintf(w, "a partial event, CPU\t%v, of which %v to print it\tunder 20 µs\n", with, max(with-without, 0))
	return nil
}

// answerCost is the CPU time of a long answer per piece, the least of a few.
func answerCost(binary string, flags ...string) (time.Duration, error) {
	binary, err := filepath.Abs(binary)
	if err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("", "adze-bench-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	server, err := openaitest.Start(openaitest.Script{Repeat: true, Answers: []openaitest.Answer{
		{Text: strings.Repeat("word", partialEvents), Faults: openaitest.Faults{Split: 4}},
	}})
	if err != nil {
		return 0, err
	}
	defer server.Close()
	least := time.Hour
	for range 3 {
		cmd := exec.Command(binary, append([]string{"-p", "Go.", "-o", "stream-json"}, flags...)...)
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "OPENAI_BASE_URL=" + server.URL, "OPENAI_MODEL=m"}
		out, err := cmd.Output()
		if err != nil {
			return 0, err
		}
		if n := bytes.Count(out, []byte(`"content_block_delta"`)); len(flags) > 0 && n != partialEvents {
			return 0, fmt.Errorf("%d events, expected %d", n, partialEvents)
		}
		least = min(least, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
	}
	return (least / partialEvents).Round(100 * time.Nanosecond), nil
}
