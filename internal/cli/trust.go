package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/adze-dev/adze/internal/settings"
	"github.com/adze-dev/adze/internal/trust"
	"github.com/adze-dev/adze/tool"
)

// loadSettings reads the settings. Those of a folder count in full only if the person trusts exactly what it wants.
func loadSettings(env Env, src settings.Sources) (s *settings.Settings, trusted bool, err error) {
	s, err = settings.Load(src)
	if err != nil {
		return nil, false, err
	}
	items := wants(s, src.Project, places(src.Project, src.UserHome, src.AdzeHome, false))
	if len(items) == 0 {
		return s, false, nil
	}
	state, err := trust.Open(src.AdzeHome).State(src.Project, items)
	switch {
	case err != nil:
		fmt.Fprintf(env.Stderr, "adze: %v\n", err)
	case state == trust.Trusted:
		src.Trusted = true
		s, err = settings.Load(src)
		return s, true, err
	case state == trust.Changed:
		fmt.Fprintf(env.Stderr, "adze: %s wants other things than you trusted; adze trust shows them\n", src.Project)
	}
	return s, false, nil
}

// tellNotes tells what of settings was not taken as it stands; of what a folder wants beyond its rights only that there
// is something, since adze trust shows it.
func tellNotes(env Env, s *settings.Settings, dir string) {
	withheld := map[settings.Place]bool{}
	for _, w := range s.Withheld() {
		withheld[w.From] = true
	}
	for _, n := range s.Notes() {
		if !withheld[n.From] {
			fmt.Fprintf(env.Stderr, "adze: %s\n", n)
		}
	}
	if n := len(s.Withheld()); n > 0 {
		fmt.Fprintf(env.Stderr, "adze: the settings in %s want %d things that count only in a folder you trust; adze trust shows them\n", dir, n)
	}
}

// runTrust shows what a folder's files would be allowed to do, and asks whether they may.
func runTrust(ctx context.Context, env Env, o *options, words []string) error {
	if len(words) > 1 {
		return usagef("usage: adze trust [DIR]")
	}
	if len(words) == 1 {
		o.cwd = words[0]
	}
	dir, err := workingDir(env, o.cwd)
	if err != nil {
		return err
	}
	home, err := settings.Home(env.Getenv, env.Home)
	if err != nil {
		return err
	}
	store := trust.Open(home)
	if o.remove {
		if err := store.Forget(dir); err != nil {
			return err
		}
		_, err := fmt.Fprintf(env.Stdout, "%s is not trusted any more.\n", dir)
		return err
	}
	s, err := settings.Load(settings.Sources{UserHome: env.Home, AdzeHome: home, Project: dir, Getenv: env.Getenv})
	if err != nil {
		return err
	}
	items := wants(s, dir, places(dir, env.Home, home, false))
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
	fmt.Fprint(env.Stderr, "Let them? [y]es, [n]o: ")
	line, err := newLineReader(env.Stdin).next(ctx)
	if err != nil {
		return exitf(exitRefused, "there was no answer: %v", err)
	}
	if answer := strings.ToLower(strings.TrimSpace(string(line))); answer != "y" && answer != "yes" {
		return exitf(exitRefused, "not trusted")
	}
	return nil
}
