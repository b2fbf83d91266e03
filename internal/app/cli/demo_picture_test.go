package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/internal/app/approval"
	"github.com/adze-dev/adze/internal/app/demo"
	"github.com/adze-dev/adze/internal/app/playback"
	"github.com/adze-dev/adze/internal/app/recording"
	"github.com/adze-dev/adze/internal/app/session"
	"github.com/adze-dev/adze/internal/app/slash"
	"github.com/adze-dev/adze/internal/app/tui"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// scene is one turn of the demo: what the model said, its calls in their order, and the questions about them.
type scene struct {
	said  string
	calls []tool.Call
	ends  map[string]tool.Event   // by the ID of the call
	asked map[string]tool.Request // also
	known map[string]tool.Request // also, as the first event described them
}

// The README's picture is a run of the demo on a screen of 80 columns and 24 rows, with the times and paths of a calm machine.
func TestReadmePicture(t *testing.T) {
	t.Parallel()
	scenes, undone := runScenes(t)
	if len(scenes[1].asked) == 0 {
		t.Skip("commands can't be tried here: adze doctor says why")
	}
	picture := drawn(t, scenes, undone)
	path := filepath.Join("..", "..", "..", "docs", "demo.svg")
	if *update {
		if err := os.WriteFile(path, picture, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, picture) {
		t.Errorf("docs/demo.svg is stale (%v): run make golden", err)
	}
}

// runScenes runs the demo, answers yes, and returns its turns and what the undo printed.
func runScenes(t *testing.T) (scenes []*scene, undone string) {
	t.Helper()
	p, err := demo.New()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	d := &demonstration{p, Env{
		Stdin: strings.NewReader(""), Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}, Dir: t.TempDir(), Home: t.TempDir(), Helper: helper,
		Getenv: func(name string) string { return map[string]string{"PATH": os.Getenv("PATH")}[name] },
	}}
	s, err := openSession(d.quiet(), &options{cwd: d.Dir, mode: permission.Default}, session.Options{Record: &recording.Options{}})
	if err != nil {
		t.Fatal(err)
	}
	defer closeSession(d.env, s)
	m, err := d.Model()
	if err != nil {
		t.Fatal(err)
	}
	last := func() *scene { return scenes[len(scenes)-1] }
	s.Executor.Ask = approval.Rules{Policy: s.Policy}.Asker(func(_ context.Context, q *approval.Question) (tool.Decision, error) {
		if q.Tried() {
			last().asked[q.Request.Call.ID] = q.Request
		}
		return tool.Decision{Verdict: tool.Allow}, nil
	})
	talk := s.Converse(t.Context(), session.ConversationOptions{Model: m, Observe: func(e agent.Event) {
		switch e := e.(type) {
		case agent.Began:
			scenes = append(scenes, &scene{ends: map[string]tool.Event{}, asked: map[string]tool.Request{}, known: map[string]tool.Request{}})
		case agent.Said:
			if text, ok := e.Event.(model.Text); ok {
				last().said += string(text)
			}
		case agent.Called:
			last().calls = append(last().calls, e.Call)
		case agent.Step:
			if e.Request.Description != "" {
				last().known[e.Request.Call.ID] = e.Request
			}
			if e.Stage == tool.Done {
				last().ends[e.Request.Call.ID] = e.Event
			}
		}
	}})
	if _, err := talk.Run(t.Context(), model.Text(demo.Task)); err != nil {
		t.Fatal(err)
	}
	if err := d.Check(false); err != nil {
		t.Fatal(err)
	}
	text, _, err := slash.New(s, slash.Lasts).Expand(t.Context(), "/undo --yes")
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Check(true); err != nil {
		t.Fatal(err)
	}
	_, undone, _ = strings.Cut(text.Print, "\n") // the first line has the ID of the session
	return scenes, strings.TrimSpace(undone)
}

// drawn plays the scenes.
func drawn(t *testing.T, scenes []*scene, undone string) []byte {
	t.Helper()
	var picture bytes.Buffer
	now := time.Date(2026, 11, 16, 9, 0, 0, 0, time.UTC)
	rec := &playback.Recording{SVG: &picture, Title: "adze demo", Began: now}
	o := rec.Options(1)
	p, err := o.Open(tui.PlayerOptions{
		Header: []tui.Row{{Label: "Adze", Text: "~/greeting"}, {Label: "model", Text: "recorded: this is adze demo"}},
		Status: func() tui.Status {
			return tui.Status{Mode: "default", Model: "recorded", Directory: "greeting", Context: -1}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	wait := func(d time.Duration) {
		now = now.Add(d)
		p.Clock(now)
		if err := p.Paint(); err != nil {
			t.Fatal(err)
		}
		o.Pass(d)
	}
	typed := func(text string) {
		for i := range 8 {
			p.Type(text[:len(text)*(i+1)/8])
			wait(60 * time.Millisecond)
		}
		wait(200 * time.Millisecond)
		p.Send(text)
	}
	p.Clock(now)
	typed(demo.Task)
	for _, s := range scenes {
		p.Observe(agent.Began{})
		wait(200 * time.Millisecond)
		p.Observe(agent.Said{Event: model.Text(s.said)})
		wait(400 * time.Millisecond)
		for _, c := range s.calls {
			p.Observe(agent.Called{Call: c})
		}
		p.Observe(agent.Answered{})
		for _, c := range s.calls {
			end := s.ends[c.ID]
			end.Request = s.known[c.ID]
			if end.Outcome.Status != tool.StatusDenied {
				p.Observe(agent.Step{Event: tool.Event{Stage: tool.Running, Request: end.Request}})
			}
			wait(200 * time.Millisecond)
			if r, ok := s.asked[c.ID]; ok {
				effects := r.Confirm.(tool.Effects)
				effects.Took = 100 * time.Millisecond
				r.Confirm = effects
				p.Ask(r)
				wait(2800 * time.Millisecond)
				p.Answer(c)
			}
			end.Outcome = calm(t, *end.Outcome)
			p.Observe(agent.Step{Event: end})
			wait(300 * time.Millisecond)
		}
		p.Observe(agent.Responded{})
	}
	p.End()
	wait(600 * time.Millisecond)
	typed("/undo")
	p.Tell(undone)
	p.End()
	wait(2 * time.Second)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	return picture.Bytes()
}

// calm replaces in an outcome what differs from run to run.
func calm(t *testing.T, o tool.Outcome) *tool.Outcome {
	o.Duration = 100 * time.Millisecond
	path := regexp.MustCompile(`[\w/.-]*adze-demo-\d+(/home)?`)
	for i, part := range o.Result.Content {
		if text, ok := part.(tool.Text); ok {
			o.Result.Content[i] = tool.Text(regexp.MustCompile(`Duration: [0-9.µms]+`).ReplaceAllString(path.ReplaceAllString(string(text), "/home/ada"), "Duration: 100ms"))
		}
	}
	if o.Error != nil {
		text, err := json.Marshal(o.Error)
		if err == nil {
			o.Error = &tool.Failure{}
			err = json.Unmarshal(path.ReplaceAll(text, []byte("/home/ada")), o.Error)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return &o
}
