package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/adze-dev/adze/model/openai/openaitest"
)

// printEditor measures adze acp: the time to the first answers, a cancel, and loading a long session.
func printEditor(w io.Writer, binary string) error {
	b, err := newSessionBench(binary)
	if err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	if _, _, err := b.record(sessionID(0), 1000); err != nil {
		return err
	}
	sleep := openaitest.Call{
		ID: "c1", Name: "run_shell_command", Args: json.RawMessage(`{"command":"echo begin; sleep 1000"}`),
	}
	server, err := openaitest.Start(openaitest.Script{
		Answers: []openaitest.Answer{{Calls: []openaitest.Call{sleep}}}, Repeat: true,
	})
	if err != nil {
		return err
	}
	defer server.Close()
	var began, opened, cancelled, loaded []time.Duration
	for range 11 {
		took, err := b.edit(server.URL)
		if err != nil {
			return fmt.Errorf("editor: %w", err)
		}
		began, opened, cancelled, loaded = append(began, took[0]), append(opened, took[1]), append(cancelled, took[2]),
			append(loaded, took[3])
	}
	updates, err := b.updates()
	if err != nil {
		return fmt.Errorf("editor: %w", err)
	}
	for _, row := range []struct {
		name, goal string
		took       []time.Duration
	}{
		{"adze acp: initialize after exec", "20 ms", began}, {"adze acp: session/new", "30 ms", opened},
		{"adze acp: cancel with a command running", "200 ms", cancelled},
		{"adze acp: session/load, 1,000 turns", "200 ms", loaded},
		{"adze acp: update after the event of the model", "1 ms", updates},
	} {
		slices.Sort(row.took)
		fmt.Fprintf(w, "%s\t%v\tunder %s\n", row.name, row.took[len(row.took)/2].Round(10*time.Microsecond), row.goal)
	}
	return nil
}

// edit runs an editor: it starts the agent, opens a session, cancels a prompt and loads another session, and returns
// the time of each.
func (b *sessionBench) edit(url string) (took [4]time.Duration, err error) {
	began := time.Now()
	e, err := b.startEditor(url)
	if err != nil {
		return took, err
	}
	defer e.close()
	if _, err = e.until("initialize", `{"protocolVersion":1}`, `"protocolVersion"`); err != nil {
		return took, err
	}
	took[0], began = time.Since(began), time.Now()
	id, err := e.open(b.project)
	if err != nil {
		return took, err
	}
	took[1] = time.Since(began)
	if _, err = e.until("session/prompt", fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"text","text":"go"}]}`, id),
		`"in_progress"`); err != nil {
		return took, err
	}
	began = time.Now()
	fmt.Fprintf(e.in, `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":%q}}`+"\n", id)
	if _, err = e.next(`"stopReason":"cancelled"`); err != nil {
		return took, err
	}
	took[2], began = time.Since(began), time.Now()
	_, err = e.until("session/load", fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[]}`, sessionID(0), b.project),
		`"configOptions"`)
	took[3] = time.Since(began)
	return took, err
}

// updates measures the time from an event of the model to the update for the editor.
func (b *sessionBench) updates() ([]time.Duration, error) {
	const events = 300
	sent := make([]time.Time, events)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range sent {
			time.Sleep(2 * time.Millisecond)
			sent[i] = time.Now()
			fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"event %d;\"}}]}\n\n", i)
			w.(http.Flusher).Flush()
		}
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	defer server.Close()
	e, err := b.startEditor(server.URL + "/v1")
	if err != nil {
		return nil, err
	}
	defer e.close()
	if _, err := e.until("initialize", `{"protocolVersion":1}`, `"protocolVersion"`); err != nil {
		return nil, err
	}
	id, err := e.open(b.project)
	if err != nil {
		return nil, err
	}
	var seen []time.Time
	for i := range events {
		if i == 0 {
			_, err = e.until("session/prompt", fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"text","text":"go"}]}`,
				id), "event 0;")
		} else {
			_, err = e.next(fmt.Sprintf("event %d;", i))
		}
		if err != nil {
			return nil, err
		}
		seen = append(seen, time.Now())
	}
	if _, err := e.next(`"stopReason"`); err != nil { // then the server has recorded all times
		return nil, err
	}
	var took []time.Duration
	for i, at := range seen {
		took = append(took, at.Sub(sent[i]))
	}
	return took, nil
}

type benchEditor struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	last int
}

// startEditor starts the agent with a model.
func (b *sessionBench) startEditor(url string) (*benchEditor, error) {
	cmd := exec.Command(b.binary, "acp")
	cmd.Env = append(os.Environ(), "HOME="+b.home, "ADZE_HOME="+b.home, "OPENAI_BASE_URL="+url, "OPENAI_MODEL=m",
		"OPENAI_API_KEY=", "ADZE_LOCAL_MODELS=off")
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &benchEditor{cmd: cmd, in: in, out: bufio.NewReaderSize(out, 1<<20)}, cmd.Start()
}

func (e *benchEditor) close() {
	e.in.Close()
	e.cmd.Wait()
}

// open opens a session and returns its ID.
func (e *benchEditor) open(dir string) (string, error) {
	line, err := e.until("session/new", fmt.Sprintf(`{"cwd":%q,"mcpServers":[]}`, dir), `"sessionId"`)
	if err != nil {
		return "", err
	}
	var opened struct{ Result struct{ SessionID string } }
	err = json.Unmarshal([]byte(line), &opened)
	return opened.Result.SessionID, err
}

// until sends a request and reads lines until one has a text.
func (e *benchEditor) until(method, params, text string) (string, error) {
	e.last++
	if _, err := fmt.Fprintf(e.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", e.last, method,
		params); err != nil {
		return "", err
	}
	return e.next(text)
}

func (e *benchEditor) next(text string) (string, error) {
	for {
		line, err := e.out.ReadString('\n')
		if err != nil {
			return "", err
		}
		if strings.Contains(line, `"error":{"code"`) {
			return "", fmt.Errorf("the agent answered %s", line)
		}
		if strings.Contains(line, text) {
			return line, nil
		}
	}
}
