package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/adze-dev/adze/internal/approval"
	"github.com/adze-dev/adze/internal/session"
	"github.com/adze-dev/adze/internal/trust"
)

// runTrust shows what a project's files request, and asks whether to trust them.
func runTrust(ctx context.Context, env Env, o *options, words []string) error {
	if len(words) > 1 {
		return usagef("usage: adze trust [DIR]")
	}
	if len(words) == 1 {
		o.cwd = words[0]
	}
	folder, err := workingFolder(env, o)
	if err != nil {
		return err
	}
	dir, store := folder.Path, folder.Trust()
	if o.remove {
		state, err := store.State(dir, nil)
		if err == nil && state == trust.Unknown {
			_, err := fmt.Fprintf(env.Stdout, "%s was not trusted.\n", dir)
			return err
		}
		if err := store.Forget(dir); err != nil {
			return err
		}
		_, err = fmt.Fprintf(env.Stdout, "Removed trust for %s.\n", dir)
		return err
	}
	items, err := folder.Requests()
	if err != nil {
		return err
	}
	if len(items) == 0 {
		_, err := fmt.Fprintf(env.Stdout, "Nothing to trust: %s requests no additional permissions.\n", dir)
		return err
	}
	state, err := store.State(dir, items)
	if err != nil {
		return err
	}
	fmt.Fprintf(env.Stdout, "The project %s requests:\n", dir)
	io.WriteString(env.Stdout, session.DescribeRequests(items))
	if state == trust.Trusted {
		_, err := fmt.Fprintln(env.Stdout, "This project is trusted.")
		return err
	}
	if err := agree(ctx, env, o); err != nil {
		return err
	}
	if err := store.Trust(dir, items); err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.Stdout, "Trusted. You'll be asked again if any of this changes. Undo: adze trust --remove\n")
	return err
}

// agree asks for approval.
func agree(ctx context.Context, env Env, o *options) error {
	if o.yes {
		return nil
	}
	if !env.Terminal {
		return exitf(exitDenied, "trust needs a terminal\nUse --yes to trust without a prompt.")
	}
	answer, err := prompt(ctx, env.Stderr, newAnswers(env.Stdin), "Trust this project? [y/N] ")
	if err != nil {
		return exitf(exitDenied, "no answer: %v", err)
	}
	if !approval.IsYes(answer) {
		return exitf(exitDenied, "not trusted")
	}
	return nil
}
