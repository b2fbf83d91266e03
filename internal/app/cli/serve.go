package cli

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/builtin/web"
	"github.com/adze-dev/adze/internal/app/acp"
	"github.com/adze-dev/adze/internal/app/approval"
	"github.com/adze-dev/adze/internal/app/goal"
	"github.com/adze-dev/adze/internal/app/headless"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/recording"
	"github.com/adze-dev/adze/internal/app/session"
	"github.com/adze-dev/adze/internal/app/slash"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/shellwords"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/serve"
	"github.com/adze-dev/adze/tool"
)

// mcpServe offers the built-in tools to another program. Nothing but the protocol goes to stdout.
func mcpServe(ctx context.Context, env Env, o *options, _ []string) error {
	out := env.Stdout
	env.Terminal = false // who is at the other end is asked through the protocol
	env.Stdout = io.Discard
	names, dir, err := offered(env, o)
	if err != nil {
		return err
	}
	server := serve.New(serve.Options{
		Version: env.Version, Tools: names, Abroad: []string{web.SearchTool},
		Instructions: instructions(append([]string{dir}, absolute(env.Dir, o.addDirs)...)),
		Session: func(c serve.Client) (*tool.Executor, func(), error) {
			return openConnection(env, o, dir, c)
		},
	})
	if o.http != "" {
		return serveHTTP(ctx, env, server, o.http)
	}
	err = server.Stdio(ctx, io.NopCloser(env.Stdin), kept{out})
	if errors.Is(err, context.Canceled) {
		return exitf(exitInterrupted, "")
	}
	return err
}

// instructions tell the client's model what the tools are good for: a client may show it their names alone.
func instructions(dirs []string) string {
	return "Tools for files and commands in " + humanize.Shorten(strings.Join(dirs, ", "), 150) + ". Paths are " +
		"absolute. Edits replace exact text and keep everything else: encoding, line endings, whitespace. Searches " +
		"are fast and skip ignored files. Commands run in a sandbox if there is one. The user's permission rules " +
		"are enforced: if a call is denied, tell the user what its result says would allow it, and don't try " +
		"another way. The user can undo changes with 'adze undo'."
}

// kept is an output that is not the protocol's to close.
type kept struct{ io.Writer }

func (kept) Close() error { return nil }

// offered are the names of the tools to offer, nil for all, and the directory they work in. It opens a session to find
// out, so that settings that cannot be used stop the start and not the first call.
func offered(env Env, o *options) (names []string, dir string, err error) {
	s, err := openSession(env, o, session.Options{})
	if err != nil {
		return nil, "", err
	}
	defer closeSession(env, s)
	if o.tools == "" {
		return nil, s.Directory.Path, nil
	}
	for name := range strings.SplitSeq(o.tools, ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		t, err := s.Executor.Registry.Lookup(name)
		if err != nil {
			return nil, "", usagef("--tools: %v", err)
		}
		d := t.Declaration()
		if d.Needs != "" {
			return nil, "", usagef("--tools: %s needs a %s, which an MCP client doesn't provide", d.Name, d.Needs)
		}
		names = append(names, d.Name)
	}
	if names == nil {
		return nil, "", usagef("--tools: no tool named\nSee 'adze tool list'.")
	}
	return names, s.Directory.Path, nil
}

// openConnection is the session of one client.
func openConnection(env Env, o *options, dir string, c serve.Client) (*tool.Executor, func(), error) {
	added := absolute(env.Dir, o.addDirs)
	for i, path := range added {
		added[i] = project.Canonical(path)
	}
	within := narrowed(dir, c.Roots)
	if within != nil {
		within = append(within, added...) // the user added them for this server
	}
	outside := outsideOf(append(added, dir), c.Roots)
	if len(c.Roots) > 0 && len(outside) == len(c.Roots) && !slices.ContainsFunc(outside,
		func(root string) bool { return names.Below(dir, root) }) {
		env.tell(fmt.Sprintf("the client works in %s, outside %s; the tools work in %[2]s",
			tool.Visible(strings.Join(c.Roots, ", ")), dir))
	}
	quiet := env
	quiet.Stderr = io.Discard // it was all said when the server began
	s, err := openSession(quiet, o, session.Options{Within: within, Record: &recording.Options{Off: o.record.off}})
	if err != nil {
		return nil, nil, err
	}
	s.Executor.Ask = s.Asking(remembering(c.Ask, s.Policy, outside))
	return s.Executor, func() { closeSession(env, s) }, nil
}

// remembering keeps the rules of saved approvals while the connection is open. The result of a denied call names the
// flags that would allow it. outside are directories of the client that the server wasn't started with.
func remembering(ask tool.Asker, policy *permission.Policy, outside []string) approval.Front {
	return func(ctx context.Context, q *approval.Question) (tool.Decision, error) {
		d, err := ask(ctx, q.Request, q.Why)
		var denied *serve.Denied
		if errors.As(err, &denied) {
			denied.Next = allowing(q.Request, q.Why, policy.Flags(q.Request), outside)
		}
		if err == nil && d.Remember != "" {
			_, _ = q.Decide(approval.Answer{Act: approval.Always, Rule: d.Remember, Scope: approval.ForSession})
		}
		return d, err
	}
}

// allowing tells the client's model how its user can allow a call: the smallest permission first.
func allowing(r tool.Request, why tool.Decision, flags, outside []string) string {
	if r.MustAsk {
		return "Tell the user: only an approval in a client that shows approval requests allows this; no rule does."
	}
	var ways []string
	if len(why.Offer) > 0 {
		way := ""
		for _, rule := range permission.SplitOffer(why.Offer[0]) {
			way += " --rule " + shellwords.Quote(rule)
		}
		ways = append(ways, way[1:])
	}
	for _, root := range outside {
		if slices.ContainsFunc(r.Access, func(a tool.Access) bool {
			return (a.Verb == tool.Reads || a.Verb == tool.Writes) && names.Below(a.Target, root)
		}) {
			ways = append(ways, "--add-dir "+shellwords.Quote(root))
		}
	}
	if len(flags) > 0 {
		ways = append(ways, flags[0])
	}
	if ways == nil {
		return "Tell the user that no rule and no flag allows this."
	}
	return "Tell the user how to allow it: run adze mcp serve with " + strings.Join(ways, ", or with ") + "."
}

// outsideOf are the directories of a client that aren't in those of the server.
func outsideOf(dirs, roots []string) (outside []string) {
	for _, root := range roots {
		root = project.Canonical(root)
		if !slices.ContainsFunc(dirs, func(dir string) bool { return names.Below(root, dir) }) {
			outside = append(outside, root)
		}
	}
	return outside
}

// narrowed are the client's directories in the workspace; nil: it stays unchanged.
func narrowed(dir string, roots []string) []string {
	var within []string
	for _, root := range roots {
		real := project.Canonical(root)
		switch {
		case names.Below(dir, real): // all of the workspace, and more that isn't in it
			return nil
		case names.Below(real, dir):
			within = append(within, real)
		}
	}
	return within
}

func serveHTTP(ctx context.Context, env Env, server *serve.Server, address string) error {
	if err := serve.CheckAddress(address); err != nil {
		return usagef("--http: %v", err)
	}
	token, shown := env.Getenv("ADZE_MCP_TOKEN"), "(ADZE_MCP_TOKEN)"
	if token == "" {
		var b [24]byte
		rand.Read(b[:])
		token = hex.EncodeToString(b[:])
		shown = token + "  (set ADZE_MCP_TOKEN to choose your own)"
	}
	err := server.HTTP(ctx, address, token, func(url string) {
		fmt.Fprintf(env.Stderr, "Serving MCP at %s\nAuthorization: Bearer %s\n", url, shown)
	})
	if errors.Is(err, context.Canceled) {
		return exitf(exitInterrupted, "")
	}
	return err
}

// serveEditor is an agent for an editor. Nothing but the protocol goes to stdout.
func serveEditor(ctx context.Context, env Env, o *options, _ []string) error {
	out, log := env.Stdout, env.Stderr
	env.Stdout, env.Terminal, env.driven = io.Discard, false, true // the editor asks the user
	var record io.Writer
	file, err := openLog(env, o)
	if err != nil {
		return err
	}
	if file != nil {
		defer file.Close()
		record = file
	}
	err = acp.Serve(ctx, acp.Options{
		In: env.Stdin, Out: out, Version: env.Version, Limits: limits(o),
		Open: func(start acp.Start) (*session.Session, error) {
			own := env
			own.notify = func(note string) {
				start.Tell(note)
				_, _ = io.WriteString(log, "adze: "+note+"\n") // for the editor's log
			}
			if o.record.off {
				start.Record = &recording.Options{Off: true}
			}
			return session.Open(own.session(), session.Options{
				Dir: start.Dir, AddDirs: start.AddDirs, Record: start.Record,
				Flags: settingFlags(o), Sampling: true, Log: record, Place: "an editor", Editor: start.Write,
				SystemPrompt: o.systemPrompt, AppendSystemPrompt: o.appendPrompt,
			})
		},
		Directory: func(dir string) (project.Directory, error) { return env.session().Directory(dir) },
		Doctor: func(ctx context.Context, dir string) string {
			var text bytes.Buffer
			own, choices := env, *o
			own.Stdout, own.Stderr, choices.cwd = &text, io.Discard, dir
			_ = runDoctor(ctx, own, &choices, nil) // what it can't find out is in its text
			return text.String()
		},
	})
	if errors.Is(err, context.Canceled) || ctx.Err() != nil {
		return exitf(exitInterrupted, "")
	}
	return err
}

// runProgram lets another program drive the session: it sends prompts and requests, and answers instead of a user.
func runProgram(ctx context.Context, env Env, o *options, words []string) error {
	if o.hasPrompt && len(words) > 0 {
		return usagef("two prompts given: -p %q and %q\nQuote a prompt that contains spaces.", o.prompt,
			strings.Join(words, " "))
	}
	env.driven = true
	s, end, err := openRun(ctx, env, o, session.Options{Sampling: true})
	if err != nil {
		return refuse(env, o, err)
	}
	defer end()
	failed := false
	err = headless.Run(ctx, headless.Options{
		Stdin: env.Stdin, Printer: newPrinter(env, o, s, slash.New(s, slash.Lasts), ""), Session: s, Limits: limits(o),
		Prompt: o.prompt + strings.Join(words, " "),
		Ends:   func(err error) bool { return exitCode(err) == exitTurns || exitCode(err) == exitBudget },
		Observe: func(e agent.Event) {
			if r, ok := e.(agent.Responded); ok {
				failed = failed || anyFailed(r.Outcomes)
			}
		},
	})
	switch {
	case closedPipe(err):
		return err
	case errors.Is(err, context.Canceled):
		return report(env, o, context.Canceled)
	case err != nil:
		return report(env, o, err)
	case failed && o.strict:
		return exitf(exitTools, "a call failed or was denied (--strict-tools)")
	}
	return nil
}

// programFlags are for programs that drive Adze.
func programFlags(o *options) []flag {
	return []flag{
		{long: "input-format", value: "FORMAT", on: cmdPrompt, about: "input format: text (default) or stream-json " +
			"(prompts and control requests, one JSON object per line)",
			among: []string{"text", "stream-json"},
			to:    text(&o.input)},
		{long: "acp", also: []string{"experimental-acp"}, on: cmdPrompt, about: "same as 'adze acp'",
			to: yes(&o.acp)},
		{long: "include-partial-messages", on: cmdPrompt, about: "print pieces of messages as they arrive, with " +
			"--output-format stream-json",
			to: yes(&o.partial)},
	}
}

// checkFormats reports formats that don't go together.
func checkFormats(o *options) error {
	switch {
	case o.input == "stream-json" && o.format != formatStreamJSON:
		return usagef("--input-format stream-json needs --output-format stream-json")
	case o.promptTool != "" && o.input != "stream-json":
		return usagef("--permission-prompt-tool needs --input-format stream-json")
	case o.partial && o.format != formatStreamJSON:
		return usagef("--include-partial-messages needs --output-format stream-json")
	case o.input == "stream-json" && o.hasSchema:
		return exitf(exitInput, "--json-schema can't be used with --input-format stream-json")
	case o.firstPrompt != "" && o.hasSchema:
		return exitf(exitInput, "--json-schema can't be used with --prompt-interactive\nUse -p instead.")
	case o.goal.Command != "" && (!o.hasPrompt || o.hasSchema || o.input == "stream-json"):
		return usagef("--until needs -p, and can't be used with --json-schema or --input-format\nUse /goal in a " +
			"conversation.")
	case o.goal.Command == "" && o.goal != goal.Goal{}:
		return usagef("--until-turns, --until-time and --until-cost need --until COMMAND")
	}
	return nil
}

// fleetName is the program of 'adze fleet'. It has a message queue inside, which would double the size of this one.
const fleetName = "adze-fleet"

// fleetInstall is how to install it from source. Releases have it beside adze.
const fleetInstall = "git clone https://github.com/adze-dev/adze && go -C adze/fleet install ./cmd/adze-fleet"

// runFleet executes adze-fleet: the one beside this program, or the one on PATH.
func runFleet(ctx context.Context, env Env, _ *options, words []string) error {
	if len(words) == 1 && (words[0] == "--help" || words[0] == "-h") { // 'adze fleet help' is the program's own
		c, _, err := choose([]string{"fleet"})
		if err != nil {
			return err
		}
		return printHelp(env.Stdout, c, false)
	}
	own, _ := os.Executable()
	path, ok := findFleet(own)
	if !ok {
		return exitf(exitError, "%s is not installed\nInstall it beside adze or on PATH: %s", fleetName, fleetInstall)
	}
	environ := env.Environ
	if environ == nil {
		environ = os.Environ()
	}
	err := execute(ctx, env, path, words, environ)
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return exitf(failed.ExitCode(), "")
	}
	return err
}

// findFleet finds adze-fleet. own is the path of this program.
func findFleet(own string) (string, bool) {
	name := fleetName
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if real, err := filepath.EvalSymlinks(own); err == nil {
		for _, dir := range []string{filepath.Dir(own), filepath.Dir(real)} {
			beside := filepath.Join(dir, name)
			if found, err := exec.LookPath(beside); err == nil {
				return found, true
			}
		}
	}
	found, err := exec.LookPath(name)
	return found, err == nil
}
