// Command approval runs a shell command, and asks a web server for approval where the policy requires it.
//
//	approval -url http://127.0.0.1:8080/approve 'rm -r build'
//
// The server gets what the call would do as JSON, and answers {"verdict": "allow"} or {"verdict": "deny", "reason":
// "…"}.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/adze-dev/adze"
	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/permission/ondisk"
	"github.com/adze-dev/adze/tool"
)

func main() {
	helper := adze.Main() // before anything else
	url := flag.String("url", "", "URL of the approval server")
	flag.Parse()
	dir, err := os.Getwd()
	if err == nil {
		err = run(context.Background(), os.Stdout, helper, *url, dir, flag.Args()...)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "approval:", err)
		os.Exit(1)
	}
}

// run runs commands in a directory, and prints what became of each.
func run(ctx context.Context, w io.Writer, helper adze.Helper, url, dir string, commands ...string) error {
	set, err := builtin.New(builtin.Options{Dir: dir, Helper: helper})
	if err != nil {
		return err
	}
	defer set.Close()
	policy := permission.New(permission.World{Roots: set.Roots(), Disk: ondisk.New(set.Roots())}, permission.Default)
	x := &tool.Executor{
		Registry: tool.NewRegistry(set.Tools()...), Policy: policy.Judge, Mask: set.Mask, Check: set.Check,
		Ask: asker(url),
	}
	for _, command := range commands {
		args, err := json.Marshal(map[string]string{"command": command})
		if err != nil {
			return err
		}
		batch := x.Batch(ctx)
		batch.Add(tool.Call{Name: "run_shell_command", Args: args})
		o := batch.Wait()[0]
		fmt.Fprintf(w, "%s: %s\n", command, o.Status)
	}
	return nil
}

// question is what the server gets.
type question struct {
	Tool        string          `json:"tool"`
	Description string          `json:"description"`
	Why         string          `json:"why"`
	Access      []string        `json:"access"`
	Args        json.RawMessage `json:"args"`
}

// asker asks a server. If it can't be asked, the call is denied.
func asker(url string) tool.Asker {
	return func(ctx context.Context, r tool.Request, why tool.Decision) (tool.Decision, error) {
		d, err := ask(ctx, url, r, why)
		if err != nil {
			return tool.Decision{}, tool.Unapproved(r, why, "the approval server can't be asked: "+err.Error())
		}
		return d, nil
	}
}

func ask(ctx context.Context, url string, r tool.Request, why tool.Decision) (tool.Decision, error) {
	q := question{Tool: r.Declaration.Name, Description: r.Description, Why: why.Why(), Args: r.Call.Args}
	for _, a := range r.Access {
		q.Access = append(q.Access, fmt.Sprintf("%s %s", a.Verb, a.Target))
	}
	body, err := json.Marshal(q)
	if err != nil {
		return tool.Decision{}, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return tool.Decision{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return tool.Decision{}, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return tool.Decision{}, fmt.Errorf("status %s", response.Status)
	}
	var answer struct{ Verdict, Reason string }
	if err := json.NewDecoder(io.LimitReader(response.Body, 1<<20)).Decode(&answer); err != nil {
		return tool.Decision{}, err
	}
	switch answer.Verdict {
	case "allow":
		return tool.Decision{Verdict: tool.Allow}, nil
	case "deny":
		return tool.Decision{Verdict: tool.Deny, Reason: answer.Reason}, nil
	}
	return tool.Decision{}, fmt.Errorf("unknown verdict %q", answer.Verdict)
}
