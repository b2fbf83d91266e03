package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/record"
	"github.com/adze-dev/adze/internal/app/spending"
	"github.com/adze-dev/adze/internal/app/tty"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/tool"
)

// sessionList lists the recorded sessions of the directory, the newest first.
func sessionList(_ context.Context, env Env, o *options, _ []string) error {
	directory, err := workingDirectory(env, o)
	if err != nil {
		return err
	}
	found, err := record.Of(directory).Recorded(o.record.all)
	if err != nil {
		return err
	}
	if o.json {
		return printJSON(env.Stdout, append([]journal.Info{}, found...))
	}
	if len(found) == 0 {
		where := "in " + directory.Path + ". List all with 'adze session list --all'."
		if o.record.all {
			where = "in " + directory.Home + "."
		}
		_, err := fmt.Fprintln(env.Stdout, "No recorded sessions "+where)
		return err
	}
	_, err = io.WriteString(env.Stdout, sessionTable(found, o.record.all, time.Now()))
	return err
}

// sessionTable is a list of sessions for the user.
func sessionTable(all []journal.Info, dirs bool, now time.Time) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	short := shortest(all)
	for _, s := range all {
		title := tool.Visible(s.Label())
		if title == "" {
			title = "(no prompt)"
		}
		if dirs {
			title = tool.Visible(s.CWD) + "\t" + title
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", s.ID[:short], humanize.Age(now.Sub(s.Updated)),
			humanize.Count(s.Turns, "turn"), s.State, title)
	}
	_ = w.Flush() // to memory
	return b.String()
}

// shortest is how many characters of an ID tell the sessions apart, at least 8.
func shortest(all []journal.Info) int {
	n, whole := 8, len("00000000-0000-4000-8000-000000000000")
	for ; n < whole; n++ {
		seen := map[string]bool{}
		for _, s := range all {
			seen[s.ID[:n]] = true
		}
		if len(seen) == len(all) {
			break
		}
	}
	return n
}

// found is the session that a word of the command line names.
func found(env Env, o *options, word string) (record.Sessions, string, error) {
	directory, err := workingDirectory(env, o)
	if err != nil {
		return record.Sessions{}, "", err
	}
	all := record.Of(directory)
	id, err := all.Find(word)
	if err != nil {
		return all, "", record.SessionError(err)
	}
	return all, id, nil
}

// foundLog opens the journal of that session.
func foundLog(env Env, o *options, word string) (log *journal.File, all record.Sessions, id string, err error) {
	if all, id, err = found(env, o, word); err != nil {
		return nil, all, id, err
	}
	if log, err = all.Entries(id); err != nil {
		err = record.SessionError(err)
	}
	return log, all, id, err
}

// sessionShow prints a session: as Markdown, or its entries as JSON, one on each line.
func sessionShow(ctx context.Context, env Env, o *options, words []string) error {
	if !o.json {
		o.record.format = "md"
		return sessionExport(ctx, env, o, words)
	}
	log, _, _, err := foundLog(env, o, words[0])
	if err != nil {
		return err
	}
	defer log.Close()
	for e, err := range log.Read(1) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return record.SessionError(err)
		}
		if err := printJSON(env.Stdout, e); err != nil {
			return err
		}
	}
	return nil
}

// sessionSearch finds texts in the recorded sessions of all directories.
func sessionSearch(_ context.Context, env Env, o *options, words []string) error {
	if words = slices.DeleteFunc(words, func(w string) bool { return strings.TrimSpace(w) == "" }); len(words) == 0 {
		return usagef("usage: adze session search WORDS [--json]")
	}
	directory, err := workingDirectory(env, o)
	if err != nil {
		return err
	}
	hits, err := record.Of(directory).SearchText(words)
	if err != nil {
		env.tell(err.Error()) // the others were searched
	}
	switch {
	case o.json:
		return printJSON(env.Stdout, append([]journal.Hit{}, hits...))
	case len(hits) == 0:
		return exitf(exitError, "no session has %s", strings.Join(words, " and "))
	}
	text, err := record.HitLines(hits, words, time.Now())
	if err == nil {
		_, err = io.WriteString(env.Stdout, text)
	}
	return err
}

// sessionFork copies a session, or its start, and prints the ID of the copy.
func sessionFork(_ context.Context, env Env, o *options, words []string) error {
	if len(words) < 1 || len(words) > 2 {
		return usagef("usage: adze session fork ID [SEQ]")
	}
	var upTo int64
	if len(words) == 2 {
		n, err := strconv.ParseInt(words[1], 10, 64)
		if err != nil || n < 1 {
			return usagef("session fork: expected the number of an entry, above 0, got %q\nSee 'adze session show "+
				"ID --json'.", words[1])
		}
		upTo = n
	}
	all, id, err := found(env, o, words[0])
	if err != nil {
		return err
	}
	copied := record.NewID()
	if err := all.Fork(id, upTo, copied); err != nil {
		return record.SessionError(err)
	}
	if o.json {
		return printJSON(env.Stdout, map[string]any{"id": copied, "parent": id})
	}
	_, err = fmt.Fprintln(env.Stdout, copied)
	return err
}

// sessionDelete deletes sessions, with their saved results.
func sessionDelete(ctx context.Context, env Env, o *options, words []string) error {
	if (len(words) == 0) == (o.record.older == 0) {
		return usagef("usage: adze session delete ID…, or adze session delete --older 90d")
	}
	directory, err := workingDirectory(env, o)
	if err != nil {
		return err
	}
	all := record.Of(directory)
	ids, err := toDelete(env, o, all, words)
	if err != nil {
		return err
	}
	if o.record.older > 0 && len(ids) > 0 && !o.yes {
		if err := confirm(ctx, env, "Delete "+humanize.Count(len(ids), "session")+"?", "session delete"); err != nil {
			return err
		}
	}
	deleted := []string{}
	for _, id := range ids {
		err := all.DeleteSession(id)
		var used *journal.InUseError
		if errors.As(err, &used) && o.record.older > 0 {
			env.tell(used.Error())
			continue
		}
		if err != nil {
			return record.SessionError(err)
		}
		deleted = append(deleted, id)
		if !o.json {
			fmt.Fprintln(env.Stdout, "deleted "+id)
		}
	}
	if o.json {
		return printJSON(env.Stdout, map[string]any{"deleted": deleted})
	}
	return nil
}

// toDelete returns the sessions that are named, or those that weren't used for some days, which it lists.
func toDelete(env Env, o *options, sessions record.Sessions, words []string) (ids []string, err error) {
	for _, word := range words { // all are known before one is deleted
		id, err := sessions.Find(word)
		if err != nil {
			return nil, record.SessionError(err)
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if o.record.older == 0 {
		return ids, nil
	}
	all, err := sessions.Recorded(true)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	before := now.Add(-time.Duration(o.record.older) * 24 * time.Hour)
	all = slices.DeleteFunc(all, func(s journal.Info) bool { return s.Updated.After(before) })
	for _, s := range all {
		ids = append(ids, s.ID)
	}
	switch {
	case o.json:
	case len(all) == 0:
		days := humanize.Count(o.record.older, "day")
		_, err = fmt.Fprintf(env.Stdout, "All sessions were used in the last %s.\n", days)
	default:
		_, err = io.WriteString(env.Stdout, sessionTable(all, true, now))
	}
	return ids, err
}

// maxListed is how many sessions the user can choose from.
const maxListed = 20

// chooseSession lets the user choose one of the directory's sessions whose names or titles have some words. If words
// are given and one session has them, it is that one.
func chooseSession(ctx context.Context, env Env, directory project.Directory, words string) (string, error) {
	found, err := record.Of(directory).Recorded(false)
	if err != nil {
		return "", err
	}
	found = slices.DeleteFunc(found, func(s journal.Info) bool { return s.Title == "" || !hasWords(s.Label(), words) })
	switch {
	case len(found) == 0 && words == "":
		return "", fmt.Errorf("no session to resume in %s", directory.Path)
	case len(found) == 0:
		return "", fmt.Errorf("no session with %q in its name or title in %s\nSee 'adze session list'.", words,
			directory.Path)
	case len(found) == 1 && words != "":
		return found[0].ID, nil
	case !env.Terminal && words != "":
		list := sessionTable(found[:min(len(found), maxListed)], false, time.Now())
		return "", fmt.Errorf("%d sessions have %q in their names or titles\n%sAdd the ID of one of them: --resume ID",
			len(found), words, list)
	case !env.Terminal:
		return "", fmt.Errorf("--resume needs an ID, a name or words of a title: this session is " +
			"non-interactive\nSee 'adze session list', or continue the newest with --continue.")
	}
	found = found[:min(len(found), maxListed)]
	lines := strings.Split(strings.TrimRight(sessionTable(found, false, time.Now()), "\n"), "\n")
	for i, l := range lines {
		fmt.Fprintf(env.Stderr, "%3d  %s\n", i+1, l)
	}
	in := tty.NewAnswers(env.Stdin)
	for {
		fmt.Fprintf(env.Stderr, "Resume which session? [1-%d] ", len(found))
		line, err := in.Next(ctx)
		if err != nil {
			return "", exitf(exitInterrupted, "no session chosen")
		}
		n, err := strconv.Atoi(strings.TrimSpace(string(line)))
		if err == nil && n >= 1 && n <= len(found) {
			return found[n-1].ID, nil
		}
		fmt.Fprintf(env.Stderr, "Type a number from 1 to %d, or press Ctrl-C.\n", len(found))
	}
}

// hasWords reports whether a name or a title contains all words, in any case.
func hasWords(title, words string) bool {
	title = strings.ToLower(title)
	return !slices.ContainsFunc(strings.Fields(strings.ToLower(words)),
		func(w string) bool { return !strings.Contains(title, w) })
}

// sessionExport prints a session in a format for people or programs.
func sessionExport(_ context.Context, env Env, o *options, words []string) error {
	all, id, err := found(env, o, words[0])
	if err != nil {
		return err
	}
	return all.Export(env.Stdout, id, o.record.format)
}

// runUsage prints what recorded sessions of all directories used, by day and model.
func runUsage(ctx context.Context, env Env, o *options, _ []string) error {
	directory, err := workingDirectory(env, o)
	if err != nil {
		return err
	}
	days := cmp.Or(o.record.days, 30)
	now := time.Now()
	since := time.Date(now.Year(), now.Month(), now.Day()-days+1, 0, 0, 0, 0, time.Local)
	rows, err := spending.Since(ctx, directory, since)
	if rows == nil {
		return err
	}
	if err != nil {
		env.tell(err.Error()) // the others count
	}
	switch {
	case o.json:
		return printJSON(env.Stdout, rows)
	case len(rows) == 0:
		_, err := fmt.Fprintf(env.Stdout, "No requests in the last %s.\n", humanize.Count(days, "day"))
		return err
	}
	return spending.Print(env.Stdout, rows)
}
