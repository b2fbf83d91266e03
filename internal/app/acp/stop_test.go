package acp

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/openai/openaitest"
)

// Why an answer ended, in the words of the protocol.
func TestStopReason(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		answer agent.Answer
		err    error
		want   string
	}{
		{agent.Answer{}, nil, "end_turn"},
		{agent.Answer{Reason: model.Length}, nil, "max_tokens"},
		{agent.Answer{Reason: model.Filter}, nil, "refusal"},
		{agent.Answer{}, fmt.Errorf("run: %w", agent.ErrTokenLimit), "max_tokens"},
		{agent.Answer{}, fmt.Errorf("run: %w", agent.ErrContextFull), "max_tokens"},
		{agent.Answer{}, fmt.Errorf("run: %w", agent.ErrTurnLimit), "max_turn_requests"},
		{agent.Answer{}, fmt.Errorf("run: %w", agent.ErrCallLimit), "max_turn_requests"},
		{agent.Answer{}, fmt.Errorf("run: %w", agent.ErrWallTime), "max_turn_requests"},
		{agent.Answer{}, errors.New("no server"), ""},
	} {
		if got, err := stopReason(tt.answer, tt.err); got != tt.want || (err != nil) != (tt.want == "") {
			t.Errorf("%v, %v: %q %v, want %q", tt.answer.Reason, tt.err, got, err, tt.want)
		}
	}
}

// A filter of the server is a refusal, and the editor gets the tokens that were used.
func TestRefusal(t *testing.T) {
	t.Parallel()
	e := open(t)
	e.model(openaitest.Answer{Text: "I can't", Finish: "content_filter"})
	e.initialize(`{}`)
	if got := e.say(e.session(), "go"); got != "refusal" {
		t.Errorf("stop reason %q", got)
	}
	e.until("the editor gets the usage", func(all []map[string]any) bool {
		for _, u := range all {
			if u["sessionUpdate"] == "usage_update" && u["size"].(float64) > 0 {
				return true
			}
		}
		return false
	})
}

// An editor gets a compaction as such if it knows them, else as a notice if it knows those, else not at all.
func TestCompacted(t *testing.T) {
	t.Parallel()
	for capabilities, want := range map[string]string{
		`{"session":{"compaction":{},"notices":{}}}`: "compaction_update", `{"session":{"notices":{}}}`: "notice", `{}`: "",
	} {
		e := open(t)
		e.model(openaitest.Answer{Text: "one"}, openaitest.Answer{Text: "two"}, openaitest.Answer{Text: "<state_snapshot>It was short.</state_snapshot>"})
		e.initialize(capabilities)
		id := e.session()
		e.say(id, "go")
		e.say(id, "and on")
		e.say(id, "/compress")
		if story := e.story(); want != "" && !strings.Contains(story, want) || want == "" && (strings.Contains(story, "compaction_update") || strings.Contains(story, "notice")) {
			t.Errorf("%s: no %q in\n%s", capabilities, want, story)
		}
	}
}

// An editor that goes away while it is asked is not waited for.
func TestGoneWhileAsked(t *testing.T) {
	t.Parallel()
	e := open(t)
	e.model(openaitest.Answer{Calls: []openaitest.Call{call("c1", "run_shell_command", map[string]any{"command": "touch made"})}})
	e.initialize(`{}`)
	asked, never := make(chan struct{}), make(chan struct{})
	defer close(never)
	e.on("session/request_permission", func(map[string]any) any {
		close(asked)
		<-never
		return map[string]any{}
	})
	e.begin("session/prompt", prompt(e.session(), "go"))
	<-asked
	e.close()
	if e.content("made") != "" {
		t.Error("the command ran")
	}
}
