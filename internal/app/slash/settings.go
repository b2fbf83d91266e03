package slash

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/rules"
	"github.com/adze-dev/adze/internal/app/session"
	"github.com/adze-dev/adze/internal/app/settings"
	"github.com/adze-dev/adze/internal/app/trust"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/tool"
)

const permissionWords = "[allow|ask|deny RULE]"

// slashPermissions shows the mode and the rules, or adds a rule for the session.
func slashPermissions(_ context.Context, s *session.Session, words string) (Expansion, error) {
	if words == "" {
		return Expansion{Print: describeRules(s)}, nil
	}
	list, rule, _ := strings.Cut(words, " ")
	rule = strings.TrimSpace(rule)
	if !slices.Contains(rules.Lists(), list) || rule == "" {
		return Expansion{}, errorf("usage: /permissions %s, such as /permissions allow Shell(make test)",
			permissionWords)
	}
	note, err := s.Rules.Add(s.Executor, list, rule)
	if err != nil {
		return Expansion{}, errorf("/permissions: %v", err)
	}
	return Expansion{Print: fmt.Sprintf("For this session: %s %s%s", list, tool.Visible(rule), note)}, nil
}

func describeRules(s *session.Session) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Approval mode: %s. Change it with /mode.\n", s.Policy.Mode())
	var rows [][]string
	for _, r := range s.Rules.All() {
		rows = append(rows, []string{r.List, r.Text, r.Source})
	}
	if len(rows) == 0 {
		b.WriteString("No rules.\n")
	} else {
		b.WriteString("Rules; deny comes before ask, and ask before allow:\n" + columns(rows))
	}
	b.WriteString("/permissions allow RULE adds a rule for this session; so do ask and deny.")
	return b.String()
}

const settingWords = "[get KEY|set KEY VALUE]"

// slashSettings lists the settings that are not defaults, shows one, or changes one in the user's file.
func slashSettings(_ context.Context, s *session.Session, words string) (Expansion, error) {
	verb, rest, _ := strings.Cut(words, " ")
	rest = strings.TrimSpace(rest)
	switch {
	case verb == "":
		return listSettings(s), nil
	case verb == "get" && rest != "" && !strings.Contains(rest, " "):
		key, err := settings.Canonical(rest)
		if err != nil {
			return Expansion{}, err
		}
		v := project.ValueOf(s.Settings, key)
		if v.Value == nil {
			return Expansion{Print: "setting " + key + " is not set"}, nil
		}
		return Expansion{Print: fmt.Sprintf("%s = %s\nset in: %s", key, v, v.Source())}, nil
	case verb == "set" && strings.Contains(rest, " "):
		key, value, _ := strings.Cut(rest, " ")
		return changeSetting(s, key, strings.TrimSpace(value))
	}
	return Expansion{}, errorf("usage: /settings %s", settingWords)
}

func listSettings(s *session.Session) Expansion {
	var rows [][]string
	for _, d := range settings.Describe() {
		if v := project.ValueOf(s.Settings, d.Key); len(v.From) > 0 {
			rows = append(rows, []string{v.Key, humanize.Line(v.String(), 60), v.Source()})
		}
	}
	if len(rows) == 0 {
		return Expansion{
			Print: "All settings have their defaults. Change one with /settings set KEY VALUE, or see 'adze " +
				"config list'.",
		}
	}
	return Expansion{Print: "Settings that are not defaults:\n" + columns(rows) + "All settings: 'adze config list'."}
}

func changeSetting(s *session.Session, key, value string) (Expansion, error) {
	c, err := s.Directory.SetSetting(project.ForUser, key, value)
	if err != nil {
		return Expansion{}, err
	}
	text := c.String() + ".\nIt takes effect in the next session."
	for _, note := range []string{c.Warning, second(s.Directory.TakesEffect(c))} {
		if note != "" {
			text += "\n" + note
		}
	}
	return Expansion{Print: text}, nil
}

func second[A, B any](_ A, b B) B { return b }

// settingKeys returns the completions of /settings.
func settingKeys(context.Context, *session.Session) []Value {
	var out []Value
	for _, verb := range []string{"get ", "set "} {
		for _, d := range settings.Describe() {
			out = append(out, Value{verb + d.Key, d.About})
		}
	}
	return out
}

// trust shows what the project requests, and trusts it if the user approves.
func (c *Commands) trust(ctx context.Context, s *session.Session, _ string) (Expansion, error) {
	dir := s.Directory.Path
	requests, err := s.Directory.Requests()
	if err != nil {
		return Expansion{}, err
	}
	if len(requests.Items) == 0 {
		return Expansion{Print: "Nothing to trust: " + dir + " requests no additional permissions."}, nil
	}
	state, err := s.Directory.TrustState(requests)
	if err != nil {
		return Expansion{}, err
	}
	list := "The project " + dir + " requests:\n" + trust.Describe(requests.Items)
	if state == trust.Trusted {
		return Expansion{Print: list + "This project is trusted."}, nil
	}
	if c.front&Answers == 0 {
		return Expansion{Print: list + "This project isn't trusted. Run 'adze trust' to trust it."}, nil
	}
	trusted := func(context.Context) (Expansion, error) {
		if err := s.Directory.Grant(requests); err != nil {
			return Expansion{}, err
		}
		return Expansion{
			Print: "Trusted. It takes effect when you start adze again; adze -c continues this session.",
		}, nil
	}
	if c.front&Chooses != 0 {
		return Expansion{Choice: &Choice{Title: "Trust this project?", Text: list, Options: []Option{
			{Text: "no, not now", Run: func(context.Context) (Expansion, error) {
				return Expansion{Print: "Not trusted."}, nil
			}},
			{Text: "yes, trust it", About: "until it requests something else", Run: trusted},
		}}}, nil
	}
	d, err := s.Executor.Ask(ctx, tool.Request{
		Call:        tool.Call{Name: "trust"},
		Declaration: tool.Declaration{Name: "trust", DisplayName: "Trust", Kind: tool.Other},
		Invocation:  tool.Invocation{Description: "trust this project", Confirm: tool.Literal(list), MustAsk: true},
	}, tool.Decision{Verdict: tool.Ask, Cause: tool.Cause{Kind: tool.ByUser}})
	if err != nil {
		return Expansion{}, err
	}
	if d.Verdict != tool.Allow {
		return Expansion{Print: "Not trusted."}, nil
	}
	return trusted(ctx)
}

// Choice is a decision of the user before a command continues. Nothing happens unless an option is chosen.
type Choice struct {
	Title   string
	Detail  []string // further lines
	View    string   // more details, which may be long; "": none
	Text    string   // printed before it
	Options []Option
	At      int // the option that is the default: the current one, or one that is safe
}

// Option is a possible answer to a choice.
type Option struct {
	Key         string // a letter that selects it; "": it is in a list
	Text, About string
	Run         func(context.Context) (Expansion, error) // nil: nothing happens
}
