package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/adze-dev/adze/internal/session"
	"github.com/adze-dev/adze/tool"
)

// toolRun answers calls line by line.
func toolRun(ctx context.Context, env Env, o *options, words []string) error {
	if err := takes(words, 0, "tool run < calls.jsonl"); err != nil {
		return err
	}
	s, err := openSession(env, o, session.Options{})
	if err != nil {
		return err
	}
	defer closeSession(env, s)
	s.Outside.Connect()
	return eachLine(ctx, env, "calls", func(line []byte, number int, bad error) ([]byte, error) {
		return answerCall(ctx, s, line, number, bad)
	})
}

type callLine struct {
	ID   json.RawMessage `json:"id"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

// answerCall runs the call of one line.
func answerCall(ctx context.Context, s *session.Session, line []byte, number int, bad error) ([]byte, error) {
	var c callLine
	if bad == nil {
		bad = json.Unmarshal(line, &c)
	}
	id, key := c.ID, "id "+string(c.ID)
	if len(id) == 0 || string(id) == "null" || bad != nil {
		id, key = json.RawMessage(fmt.Sprint(number)), fmt.Sprint("line ", number)
	}
	if bad == nil && c.Name == "" {
		bad = errors.New(`missing "name"`)
	}
	if bad != nil {
		err := fmt.Errorf(`line %d: invalid call: %v; expected {"id":…,"name":"…","args":{…}}`, number, bad)
		return failedLine(id, c.Name, err)
	}
	s.Outside.SettleFor(ctx, c.Name)
	batch := s.Executor.Batch(ctx)
	batch.Add(tool.Call{ID: key, Name: c.Name, Args: c.Args})
	return batch.Wait()[0].JSON(id)
}

func failedLine(id json.RawMessage, name string, err error) ([]byte, error) {
	o := tool.Outcome{
		Name: name, Status: tool.StatusError,
		Result: tool.TextResult(err.Error()),
		Error:  &tool.Failure{Type: tool.InvalidParams, Message: err.Error()},
	}
	return o.JSON(id)
}
