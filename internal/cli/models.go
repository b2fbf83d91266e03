package cli

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/adze-dev/adze/internal/session"
	"github.com/adze-dev/adze/internal/settings"
	"github.com/adze-dev/adze/tool"
)

// modelFlags choose a model.
func modelFlags() []flag {
	types := settings.AuthTypes()
	return []flag{
		{long: "model", short: "m", value: "NAME", on: cmdAgent + " doctor", about: "model to use (see 'adze models')",
			set: func(o *options, v string) error {
				o.model = v
				return nil
			}},
		{long: "auth-type", value: "TYPE", on: cmdAgent + " doctor models", about: "API to use: " + strings.Join(types[:len(types)-1], ", ") + " or " + types[len(types)-1],
			among: types,
			set: func(o *options, v string) error {
				o.authType = v
				return nil
			}},
		{long: "effort", value: "LEVEL", on: cmdAgent, about: "how long the model thinks, such as low, medium or high",
			set: func(o *options, v string) error {
				o.effort = v
				return nil
			}},
	}
}

// listModels prints the models that can be used.
func listModels(ctx context.Context, env Env, o *options, words []string) error {
	if err := takes(words, 0, "models [--json]"); err != nil {
		return err
	}
	s, err := openSession(env, o, session.Options{SingleCall: true})
	if err != nil {
		return err
	}
	defer closeSession(env, s)
	list, errs := s.Models.List(ctx)
	for _, err := range errs {
		env.tell(err.Error())
	}
	if o.json {
		return printJSON(env.Stdout, append([]session.ListedModel{}, list...))
	}
	if len(list) == 0 {
		if len(errs) > 0 {
			return exitf(exitCode(errs[0]), "")
		}
		_, err := s.Models.Open(ctx)
		return err
	}
	w := tabwriter.NewWriter(env.Stdout, 0, 0, 2, ' ', 0)
	for _, m := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d tokens\n", tool.Visible(m.ID), m.AuthType, m.BaseURL, m.Source, m.ContextWindow)
	}
	return w.Flush()
}
