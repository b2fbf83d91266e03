package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/internal/app/approval"
	"github.com/adze-dev/adze/internal/app/console"
	"github.com/adze-dev/adze/internal/app/session"
	"github.com/adze-dev/adze/internal/app/tty"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

func toolList(ctx context.Context, env Env, o *options, s *session.Session, _ []string) error {
	s.Outside.Settle(ctx)
	all := s.Executor.Registry.All()
	if o.json {
		return printJSON(env.Stdout, all)
	}
	_, err := io.WriteString(env.Stdout, describeTools(all))
	return err
}

// describeTools is a line for every tool.
func describeTools(all []tool.Declaration) string {
	var rows [][]string
	for _, d := range all {
		rows = append(rows, []string{d.Name, string(d.Kind), d.Brief()})
	}
	return table(rows)
}

func toolShow(ctx context.Context, env Env, o *options, s *session.Session, words []string) error {
	s.Outside.SettleFor(ctx, words[0])
	if err := excluded(s, words[0]); err != nil {
		return err
	}
	t, err := s.Executor.Registry.Lookup(words[0])
	if err != nil {
		return exitf(exitError, "%v", err)
	}
	d := t.Declaration()
	if o.json {
		return printJSON(env.Stdout, d)
	}
	var schema bytes.Buffer
	if err := json.Indent(&schema, d.Parameters, "", "  "); err != nil {
		return err
	}
	names := ""
	if len(d.Aliases) > 0 {
		names = ", also called " + strings.Join(d.Aliases, ", ")
	}
	_, err = fmt.Fprintf(env.Stdout, "%s (%s, %s%s)\n\n%s\n\n%s\n", d.Name, tool.Visible(d.Title()), d.Kind, names,
		d.Description, schema.String())
	return err
}

func toolCall(ctx context.Context, env Env, o *options, words []string) error {
	args := json.RawMessage(words[1])
	if words[1] == "-" {
		text, err := io.ReadAll(io.LimitReader(env.Stdin, tty.MaxLine))
		if err != nil {
			return fmt.Errorf("read the arguments from stdin: %w", err)
		}
		args = text
	}
	s, err := openSession(env, o, session.Options{SingleCall: true})
	if err != nil {
		return err
	}
	defer closeSession(env, s)
	s.Outside.SettleFor(ctx, words[0])
	if err := excluded(s, words[0]); err != nil {
		return err
	}
	call := tool.Call{ID: "1", Name: words[0], Args: args}
	if o.dryRun {
		return preview(ctx, env, o, s, call)
	}
	if env.Terminal && !o.json {
		s.Executor.Ask, s.Executor.AskInTurn = s.Asking(env.asker()), true
	}
	return printOutcome(env, o, s.Executor.Run(ctx, call))
}

// excluded is the error for a built-in tool that settings remove.
func excluded(s *session.Session, name string) error {
	r, ok := s.Rules.Removes(s.Tools.All(), name)
	switch {
	case !ok:
		return nil
	case r.Key == "tools.core":
		return exitf(exitDenied, "tool %q is excluded\nAdd it to tools.core in %s.", name, r.From)
	}
	return exitf(exitDenied, "tool %q is excluded\nRemove %q from %s in %s.", name, r.Text, r.Key, r.From)
}

// printOutcome prints the end of a single call and gives its exit code as an error.
func printOutcome(env Env, o *options, out tool.Outcome) error {
	code := map[tool.Status]int{
		tool.StatusSuccess: exitOK, tool.StatusError: exitError,
		tool.StatusDenied: exitDenied, tool.StatusCancelled: exitInterrupted,
	}[out.Status]
	if o.json {
		if err := printJSON(env.Stdout, out); err != nil {
			return err
		}
		return exitf(code, "")
	}
	text := out.Result.Text()
	if env.Terminal { // a program gets every byte; a terminal would act on some
		text = tool.Visible(text)
	}
	if out.Error == nil {
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		_, err := io.WriteString(env.Stdout, text)
		return err
	}
	// What a failed call printed before it failed is a result still; the rest is not.
	if out.Result.Text() != out.Error.ForModel() {
		if _, err := fmt.Fprintln(env.Stdout, strings.TrimRight(text, "\n")); err != nil {
			return err
		}
	}
	if strings.HasSuffix(strings.TrimRight(out.Result.Text(), "\n"), "\n"+out.Error.Message) {
		return exitf(code, "") // the output ends with it
	}
	return exitf(code, "%s", out.Error.Message)
}

// preview shows what a call would do.
func preview(ctx context.Context, env Env, o *options, s *session.Session, call tool.Call) error {
	r, d, err := s.Executor.Preview(ctx, call)
	if err != nil {
		code := exitError
		if tool.TypeOf(err) == tool.ExecutionDenied {
			code = exitDenied
		}
		return exitf(code, "%v", err)
	}
	if !o.json {
		_, err := io.WriteString(env.Stdout, previewText(s.Policy, r, d))
		return err
	}
	out := struct {
		Name         string          `json:"name"`
		Description  string          `json:"description"`
		Access       []tool.Access   `json:"access"`
		Verdict      string          `json:"verdict"`
		Why          string          `json:"why"`
		Confirmation json.RawMessage `json:"confirmation"`
	}{r.Declaration.Name, r.Description, r.Access, permission.Word(d), strings.Join(s.Policy.Explain(r, d), ". "),
		json.RawMessage("null")}
	if r.Confirm != nil {
		if out.Confirmation, err = tool.MarshalDisplay(r.Confirm); err != nil {
			return err
		}
	}
	return printJSON(env.Stdout, out)
}

// previewText is what a call would do and whether it needs approval, for a user.
func previewText(p *permission.Policy, r tool.Request, d tool.Decision) string {
	verdict := map[tool.Verdict]string{
		tool.Allow: "Allowed", tool.Ask: "Needs approval", tool.Deny: "Denied",
	}[d.Verdict]
	if why := d.Why(); why != "" {
		verdict += ": " + tool.Visible(why)
	}
	if permission.Word(d) == "try" {
		verdict = p.Happens(d)
	}
	text := fmt.Sprintf("Would %s\n%s\n", tool.Visible(r.Description), verdict)
	q := approval.Rules{}.Question(r, d)
	return text + console.Preview(q)
}

// printJSON prints one value on one line.
func printJSON(w io.Writer, v any) error {
	text, err := humanize.JSON(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, '\n'))
	return err
}

// toolRun answers calls line by line.
func toolRun(ctx context.Context, env Env, o *options, _ []string) error {
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
	return s.Executor.Run(ctx, tool.Call{ID: key, Name: c.Name, Args: c.Args}).JSON(id)
}

func failedLine(id json.RawMessage, name string, err error) ([]byte, error) {
	o := tool.Outcome{
		Name: name, Status: tool.StatusError,
		Result: tool.TextResult(err.Error()),
		Error:  &tool.Failure{Type: tool.InvalidParams, Message: err.Error()},
	}
	return o.JSON(id)
}

// resultSchema is the schema of --json-schema; nil without one.
func resultSchema(env Env, o *options) (*builtin.ResultSchema, error) {
	if !o.hasSchema {
		return nil, nil
	}
	text, name := []byte(o.jsonSchema), "--json-schema"
	if file, ok := strings.CutPrefix(o.jsonSchema, "@"); ok {
		path := absolute(env.Dir, []string{file})[0]
		content, err := readSchema(path)
		if err != nil {
			return nil, exitf(exitInput, "%s: %v", name, err)
		}
		text, name = content, name+": "+path
	}
	s, err := builtin.ParseResultSchema(text)
	if err != nil {
		return nil, exitf(exitInput, "%s: %v", name, err)
	}
	return s, nil
}

func readSchema(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		return nil, fmt.Errorf("%s is a directory, expected a file", path)
	}
	if err == nil && info.Size() > 4<<20 {
		return nil, fmt.Errorf("%s has %d bytes, which is too long for a schema", path, info.Size())
	}
	return os.ReadFile(path)
}

// openLog opens the file of --log, readable only by the user; nil without one.
func openLog(env Env, o *options) (*os.File, error) {
	if o.log == "" {
		return nil, nil
	}
	path := absolute(env.Dir, []string{o.log})[0]
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, usagef("--log: %v", err)
	}
	info, err := f.Stat()
	if err == nil && info.Mode().IsRegular() && info.Mode().Perm()&^fs.FileMode(0o600) != 0 {
		err = f.Chmod(0o600)
	}
	if err != nil {
		f.Close()
		return nil, usagef("--log: %v", err)
	}
	return f, nil
}
