// Package tooltest checks tools: [Check] tests the contract that every tool must meet, and [Stories] runs calls written
// as txtar files.
//
//	func TestUUID(t *testing.T) {
//		tooltest.Check(t, func(dir string) tool.Tool { return newUUID() }, tooltest.Try{Args: `{"version":4}`})
//	}
package tooltest

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze/tool"
)

// Try is a call that [Check] makes.
type Try struct {
	Args  string            // JSON; $WORK is the working directory
	Files map[string]string // initial files, by relative path
	First []string          // arguments of calls that are run before, such as a read before an edit; of the same tool
	Setup func(dir string)  // further setup
	Fails bool              // the call is expected to fail, but must meet the rest of the contract

	stop time.Duration // how long a canceled Run may take; 0 is stopTime
}

// stopTime bounds the time that a canceled Run may take. It is generous, so that only hangs exceed it on a busy
// machine.
const stopTime = 30 * time.Second

// Check tests a tool: its schema is of an object and rejects unknown parameters; every parameter has a description;
// Prepare changes no byte on disk and can be repeated; every file that Run changed is in the declared access; a Run
// whose context was cancelled before it started changes nothing; one that is cancelled midway returns in bounded time.
// build makes a new tool for a working directory.
func Check(t *testing.T, build func(dir string) tool.Tool, tries ...Try) {
	t.Helper()
	t.Run("declaration", func(t *testing.T) { checkDeclaration(t, build(t.TempDir())) })
	for _, try := range tries {
		name := try.Args
		if len(name) > 60 {
			name = name[:60]
		}
		t.Run(name, func(t *testing.T) {
			t.Run("prepare changes nothing", func(t *testing.T) { start(t, build, try).checkPrepare() })
			t.Run("a cancelled run changes nothing", func(t *testing.T) { start(t, build, try).checkCancelled() })
			t.Run("a run changes what it declared", func(t *testing.T) { start(t, build, try).checkRun() })
			t.Run("a run ends when cancelled", func(t *testing.T) { start(t, build, try).checkMidway() })
		})
	}
}

func checkDeclaration(t *testing.T, tl tool.Tool) {
	d := tl.Declaration()
	if d.Name == "" || strings.TrimSpace(d.Description) == "" {
		t.Errorf("tool %q: a name and a description are required", d.Name)
	}
	var schema struct {
		Type       string
		Properties map[string]struct{ Description string }
	}
	if err := json.Unmarshal(d.Parameters, &schema); err != nil || schema.Type != "object" {
		t.Errorf("tool %s: its parameters are a schema of type %q, not of an object (%v)", d.Name, schema.Type, err)
	}
	for name, p := range schema.Properties {
		if p.Description == "" {
			t.Errorf("tool %s: parameter %s has no description", d.Name, name)
		}
	}
	_, err := tl.Prepare(context.Background(), json.RawMessage(`{"no_such_parameter_at_all":1}`))
	var bad *tool.ParamError
	if !errors.As(err, &bad) || !strings.Contains(err.Error(), "no_such_parameter_at_all") {
		t.Errorf("tool %s: an unknown parameter is not rejected by name: %v", d.Name, err)
	}
	if again := tl.Declaration(); again.Name != d.Name || string(again.Parameters) != string(d.Parameters) {
		t.Errorf("tool %s: its declaration changes", d.Name)
	}
}

// trial is a tool, and a directory with the try's files in it.
type trial struct {
	t    *testing.T
	try  Try
	dir  string
	tool tool.Tool
	args json.RawMessage
}

func start(t *testing.T, build func(string) tool.Tool, try Try) *trial {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range try.Files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if try.Setup != nil {
		try.Setup(dir)
	}
	c := &trial{t: t, try: try, dir: dir, tool: build(dir), args: expand(try.Args, dir)}
	for _, args := range try.First {
		inv, err := c.tool.Prepare(t.Context(), expand(args, dir))
		if err != nil {
			t.Fatalf("first %s: %v", args, err)
		}
		if _, err := inv.Run(t.Context(), quietLive(nil)); err != nil {
			t.Fatalf("first %s: %v", args, err)
		}
	}
	return c
}

// expand replaces $WORK in JSON by the directory.
func expand(args, dir string) json.RawMessage {
	quoted, _ := json.Marshal(dir)
	return json.RawMessage(strings.ReplaceAll(args, "$WORK", strings.Trim(string(quoted), `"`)))
}

func quietLive(shown chan<- struct{}) *tool.Live {
	return &tool.Live{
		Decision: tool.Decision{Verdict: tool.Allow},
		Show: func(tool.Display) {
			select {
			case shown <- struct{}{}:
			default:
			}
		},
		Ask: func(context.Context, tool.Invocation) (tool.Decision, error) {
			return tool.Decision{}, tool.ErrDenied
		},
	}
}

func (c *trial) prepare() *tool.Invocation {
	c.t.Helper()
	inv, err := c.tool.Prepare(c.t.Context(), c.args)
	if err != nil {
		if !c.try.Fails {
			c.t.Fatalf("prepare %s: %v", c.args, err)
		}
		c.t.Skip("the call fails in Prepare, as expected")
	}
	if inv == nil || inv.Run == nil {
		c.t.Fatalf("prepare %s: neither an error nor something to run", c.args)
	}
	return inv
}

func (c *trial) checkPrepare() {
	before := snapshot(c.t, c.dir)
	inv := c.prepare()
	again := c.prepare()
	if changed := before.changed(snapshot(c.t, c.dir)); len(changed) > 0 {
		c.t.Errorf("Prepare changed %v", changed)
	}
	if inv.Description == "" {
		c.t.Error("the invocation has no description")
	}
	if !slices.Equal(inv.Access, again.Access) {
		c.t.Errorf("two Prepares declare different access: %v, %v", inv.Access, again.Access)
	}
	switch c.tool.Declaration().Kind {
	case tool.Read, tool.Search, tool.Think:
		for _, a := range inv.Access {
			if a.Changes() {
				c.t.Errorf("a tool of kind %s declares that it %s %s", c.tool.Declaration().Kind, a.Verb, a.Target)
			}
		}
	}
}

func (c *trial) checkCancelled() {
	inv := c.prepare()
	before := snapshot(c.t, c.dir)
	ctx, cancel := context.WithCancel(c.t.Context())
	cancel()
	c.run(ctx, inv, nil)
	if changed := before.changed(snapshot(c.t, c.dir)); len(changed) > 0 {
		c.t.Errorf("a Run that was cancelled before it started changed %v", changed)
	}
}

func (c *trial) checkRun() {
	inv := c.prepare()
	before := snapshot(c.t, c.dir)
	_, err := c.run(c.t.Context(), inv, nil)
	if (err != nil) != c.try.Fails {
		c.t.Errorf("run %s: %v", c.args, err)
	}
	for _, path := range before.changed(snapshot(c.t, c.dir)) {
		if !declared(inv.Access, filepath.Join(c.dir, path)) {
			c.t.Errorf("Run changed %s, which its access does not declare: %v", path, inv.Access)
		}
	}
}

// checkMidway cancels as soon as the call shows something, or shortly after it began.
func (c *trial) checkMidway() {
	inv := c.prepare()
	ctx, cancel := context.WithCancel(c.t.Context())
	defer cancel()
	shown := make(chan struct{}, 1)
	go func() {
		select {
		case <-shown:
		case <-time.After(5 * time.Millisecond):
		}
		cancel()
	}()
	c.run(ctx, inv, shown)
}

func (c *trial) run(ctx context.Context, inv *tool.Invocation, shown chan<- struct{}) (tool.Result, error) {
	c.t.Helper()
	type ended struct {
		result tool.Result
		err    error
	}
	over := make(chan ended, 1)
	go func() {
		r, err := inv.Run(ctx, quietLive(shown))
		over <- ended{r, err}
	}()
	limit := c.try.stop
	if limit == 0 {
		limit = stopTime
	}
	stopped := ctx.Done()
	if ctx == c.t.Context() {
		stopped = nil // it may take its time
	}
	select {
	case e := <-over:
		return e.result, e.err
	case <-stopped:
	}
	select {
	case e := <-over:
		return e.result, e.err
	case <-time.After(limit):
		c.t.Fatalf("Run did not end within %s of its cancellation", limit)
	}
	return tool.Result{}, nil
}

// declared reports whether the access covers a change of path.
func declared(access []tool.Access, path string) bool {
	for _, a := range access {
		switch {
		case a.Verb == tool.Execs, a == tool.Anything:
			return true
		case a.Verb != tool.Writes:
		case a.Target == "*", a.Target == path:
			return true
		case strings.HasSuffix(a.Target, "/") && strings.HasPrefix(path+"/", a.Target):
			return true
		case strings.HasPrefix(a.Target, path+"/"): // a parent directory that was created
			return true
		}
	}
	return false
}
