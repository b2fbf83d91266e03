package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/adze-dev/adze/internal/app/plugin"
	"github.com/adze-dev/adze/tool"
)

func pluginCommands() []command {
	return []command{
		{name: "plugin add", words: "PATH|GIT-URL[@REV]", noun: aDirectory, about: "review and add a plugin",
			run: pluginAdd, usage: "plugin add PATH|GIT-URL[@REV]", help: `
adze plugin add ./my-plugin
adze plugin add https://github.com/acme/tools.git@v1.2.0

Formats: Agent Plugins 1.0 (plugin.json), Claude Code (.claude-plugin/plugin.json) and Qwen Code (qwen-extension.json).`},
		{name: "plugin list", about: "list plugins", run: pluginList},
		{name: "plugin update", words: "[NAME]", about: "fetch one plugin or all again, and review what changed",
			run: pluginUpdate},
		{name: "plugin remove", words: "NAME", about: "remove a plugin and its data", usage: "plugin remove NAME",
			run: pluginRemove},
	}
}

func plugins(env Env) (plugin.Where, []plugin.Installed, error) {
	directory, err := env.session().Directory("")
	if err != nil {
		return plugin.Where{}, nil, err
	}
	w := directory.Plugins()
	all, err := plugin.List(w)
	return w, all, err
}

func pluginAdd(ctx context.Context, env Env, o *options, words []string) error {
	w, _, err := plugins(env)
	if err != nil {
		return err
	}
	return plugin.Review(ctx, w, plugin.ParseSource(words[0], env.Dir), nil, env.Stdout, func() error {
		return agree(ctx, env, o, "plugin add", "Use this plugin in all projects?")
	})
}

func pluginUpdate(ctx context.Context, env Env, o *options, words []string) error {
	w, all, err := plugins(env)
	found := false
	for _, i := range all {
		if len(words) == 0 || i.Name == words[0] {
			found = true
			err = errors.Join(err, plugin.Review(ctx, w, i.Source, &i, env.Stdout, func() error {
				return agree(ctx, env, o, "plugin update", "Use the new version in all projects?")
			}))
		}
	}
	if !found && len(words) > 0 {
		return fmt.Errorf("plugin %s isn't installed\nSee 'adze plugin list'.", tool.Visible(words[0]))
	}
	return err
}

func pluginList(_ context.Context, env Env, _ *options, _ []string) error {
	_, all, err := plugins(env)
	for _, i := range all {
		fmt.Fprintf(env.Stdout, "%s  %s, %s\n", tool.Visible(i.Name), tool.Visible(i.Source.String()), i.Pin())
		if i.Err != nil {
			fmt.Fprintf(env.Stdout, "  ignored: %s\n", tool.Visible(i.Err.Error()))
		}
	}
	if len(all) == 0 && err == nil {
		fmt.Fprintln(env.Stdout, "No plugins. Add one with 'adze plugin add'.")
	}
	return err
}

func pluginRemove(ctx context.Context, env Env, _ *options, words []string) error {
	w, _, err := plugins(env)
	if err == nil {
		err = plugin.Remove(ctx, w, words[0])
	}
	if err == nil {
		fmt.Fprintf(env.Stdout, "Removed plugin %s.\n", words[0])
	}
	return err
}
