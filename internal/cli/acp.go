package cli

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/adze-dev/adze/internal/acp"
	"github.com/adze-dev/adze/internal/session"
	"github.com/adze-dev/adze/tool"
)

// serveEditor is an agent for an editor. Nothing but the protocol goes to stdout.
func serveEditor(ctx context.Context, env Env, o *options, words []string) error {
	if err := takes(words, 0, "acp"); err != nil {
		return err
	}
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
		In: env.Stdin, Out: out, Version: env.Version, Limits: limits(o), Show: editorText,
		Open: func(start acp.Start) (*session.Session, error) {
			own := env
			own.notify = func(note string) {
				start.Tell(note)
				_, _ = io.WriteString(log, "adze: "+note+"\n") // for the editor's log
			}
			if o.record.off {
				start.Record = &session.Recording{Off: true}
			}
			return session.Open(own.session(), session.Options{
				Dir: start.Dir, AddDirs: start.AddDirs, Record: start.Record, Front: start.Front, Flags: settingFlags(o), Sampling: true, Log: record,
				SystemPrompt: o.systemPrompt, AppendSystemPrompt: o.appendPrompt,
			})
		},
		Folder: func(dir string) (session.Folder, error) { return env.session().Folder(dir) },
		Doctor: func(ctx context.Context, dir string) string {
			var text bytes.Buffer
			own, choices := env, *o
			own.Stdout, own.Stderr, choices.cwd = &text, io.Discard, dir
			_ = doctor(ctx, own, &choices, nil) // what it can't find out is in its text
			return text.String()
		},
	})
	if errors.Is(err, context.Canceled) || ctx.Err() != nil {
		return exitf(exitInterrupted, "")
	}
	return err
}

// editorText is what a slash command prints, as Markdown.
func editorText(x session.Expansion) string {
	if text := slashText(x); x.Markdown || text == "" {
		return text
	} else {
		return tool.Fence("", text)
	}
}
