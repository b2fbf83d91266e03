package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/adze-dev/adze"
)

var helper adze.Helper

func TestMain(m *testing.M) {
	helper = adze.Main()
	os.Exit(m.Run())
}

// ls needs no approval. The server approves directories, and nothing else.
func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q question
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if strings.Contains(string(q.Args), "mkdir") {
			io.WriteString(w, `{"verdict":"allow"}`)
			return
		}
		io.WriteString(w, `{"verdict":"deny","reason":"only directories"}`)
	}))
	defer server.Close()
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	if err := run(context.Background(), os.Stdout, helper, server.URL, dir, "ls", "mkdir build", "touch file"); err != nil {
		fmt.Println(err)
	}
	// Output:
	// ls: success
	// mkdir build: success
	// touch file: denied
}

// Without a server, nothing is approved.
func Example_noServer() {
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	if err := run(context.Background(), os.Stdout, helper, "http://127.0.0.1:9/", dir, "mkdir build"); err != nil {
		fmt.Println(err)
	}
	// Output:
	// mkdir build: denied
}
