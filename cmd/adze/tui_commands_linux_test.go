package main

import (
	"encoding/base64"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// copied waits until the content of a file, without its last newline, was sent to the clipboard.
func (g *glass) copied(ts *testscript.TestScript, _ bool, args []string) {
	want := "52;c;" + base64.StdEncoding.EncodeToString([]byte(strings.TrimSuffix(ts.ReadFile(args[0]), "\n")))
	for deadline := time.Now().Add(60 * time.Second); !slices.Contains(g.State().Sent, want); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			ts.Fatalf("%s was not copied, but %q", args[0], g.State().Sent)
		}
	}
}
