package atomicfile

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/adze-dev/adze/internal/dev/leaktest"
)

// childEnv makes the test binary play a part in its own process.
const childEnv = "ADZE_ATOMICFILE_CHILD"

func TestMain(m *testing.M) {
	if part := os.Getenv(childEnv); part != "" {
		os.Exit(child(part, os.Args[1:]))
	}
	os.Exit(leaktest.Run(m))
}

func child(part string, args []string) int {
	var err error
	switch part {
	case "write":
		err = writeForever(args[0])
	case "count":
		err = countUp(args[0], args[1])
	case "killed":
		err = killed(args[0], args[1], args[2])
	default:
		err = playUnix(part, args)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// command returns this binary in another part.
func command(part string, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), childEnv+"="+part)
	return cmd
}

// pattern returns a content that shows whether it is whole: n lines, each saying
// which content it belongs to.
func pattern(k int) []byte {
	line := fmt.Appendf(nil, "content %06d\n", k)
	return bytes.Repeat(line, 1+k%5000)
}

// writeForever replaces a file by one whole content after another.
func writeForever(path string) error {
	for {
		old, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		k, err := whole(old)
		if err != nil {
			return err
		}
		hash := sha256.Sum256(old)
		if _, err := Write(path, pattern(k+1), Options{Old: &hash}); err != nil {
			return err
		}
		fmt.Println(k + 1)
	}
}

func whole(content []byte) (k int, err error) {
	if _, err := fmt.Sscanf(string(content), "content %d\n", &k); err != nil {
		return 0, fmt.Errorf("%d bytes that are no content: %w", len(content), err)
	}
	if !bytes.Equal(content, pattern(k)) {
		return 0, fmt.Errorf("content %d is torn: %d bytes, want %d", k, len(content), len(pattern(k)))
	}
	return k, nil
}

// add appends a line by compare-and-swap, again and again until it is in.
func add(path, line string) error {
	for {
		old, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		hash := sha256.Sum256(old)
		_, err = Write(path, append(old, line...), Options{Old: &hash})
		var changed *ChangedError
		if !asChanged(err, &changed) {
			return err
		}
	}
}

func countUp(path, name string) error {
	for i := range 10 {
		if err := add(path, fmt.Sprintf("%s-%d\n", name, i)); err != nil {
			return err
		}
	}
	return nil
}

func startFile(t *testing.T) string {
	path := filepath.Join(directoryOf(t), "f")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}
