package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/adze-dev/adze/internal/trust"
	"github.com/adze-dev/adze/tool"
)

// runTrust shows what a folder's files would be allowed to do, and asks whether they may.
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
		if err := store.Forget(dir); err != nil {
			return err
		}
		_, err := fmt.Fprintf(env.Stdout, "%s is not trusted any more.\n", dir)
		return err
	}
	items, err := folder.Wants()
	if err != nil {
		return err
	}
	if len(items) == 0 {
		_, err := fmt.Fprintf(env.Stdout, "Nothing in %s wants more than to forbid: there is nothing to trust.\n", dir)
		return err
	}
	state, err := store.State(dir, items)
	if err != nil {
		return err
	}
	fmt.Fprintf(env.Stdout, "The files in %s want:\n", dir)
	for _, item := range items {
		fmt.Fprintf(env.Stdout, "  %s = %s\n", tool.Visible(item.What), tool.Visible(strings.ReplaceAll(item.Text, "\n", " ")))
	}
	if state == trust.Trusted {
		_, err := fmt.Fprintln(env.Stdout, "You trust this.")
		return err
	}
	if err := agree(ctx, env, o); err != nil {
		return err
	}
	if err := store.Trust(dir, items); err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.Stdout, "Trusted, as long as this does not change. adze trust --remove takes it back.\n")
	return err
}

// agree asks for a yes.
func agree(ctx context.Context, env Env, o *options) error {
	if o.yes {
		return nil
	}
	if !env.Terminal {
		return exitf(exitRefused, "nobody could be asked; run adze trust in a terminal, or with --yes")
	}
	answer, err := prompt(ctx, env.Stderr, newAnswers(env.Stdin), "Let them? [y]es, [n]o: ")
	if err != nil {
		return exitf(exitRefused, "there was no answer: %v", err)
	}
	if !isYes(answer) {
		return exitf(exitRefused, "not trusted")
	}
	return nil
}
