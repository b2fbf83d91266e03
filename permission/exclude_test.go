package permission_test

import (
	"strings"
	"testing"

	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

func TestExcluding(t *testing.T) {
	tools := []tool.Declaration{
		{Name: "run_shell_command", DisplayName: "Shell", Kind: tool.Execute},
		{Name: "read_file", DisplayName: "ReadFile", RuleNames: []string{"Read"}, Kind: tool.Read},
		{Name: "edit", DisplayName: "Edit", Aliases: []string{"replace"}, Kind: tool.Edit},
		{Name: "write_file", DisplayName: "WriteFile", Kind: tool.Edit},
		{Name: "github__search", Origin: "mcp:github", Kind: tool.Other},
		{Name: "gitlab__search", Origin: "mcp:gitlab", Kind: tool.Other},
		{Name: "deploy", Origin: "command", Kind: tool.Other},
	}
	for rules, want := range map[string]string{
		"":                          "",
		"run_shell_command":         "run_shell_command",
		"Shell":                     "run_shell_command",
		"ShellTool":                 "run_shell_command",
		"Shell(*)":                  "run_shell_command",
		"Shell(rm) read_file(/etc)": "",
		"Read":                      "read_file",
		"replace":                   "edit",
		"Edit":                      "edit write_file",
		"WriteFile deploy":          "write_file deploy",
		"mcp__github":               "github__search",
		"gitlab__*":                 "gitlab__search",
		"mcp__*":                    "github__search gitlab__search",
		"github__search":            "github__search",
		"nothing":                   "",
	} {
		excluded, err := permission.Excluding(strings.Fields(rules))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, d := range tools {
			if excluded(d) {
				got = append(got, d.Name)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q excludes %q, want %q", rules, got, want)
		}
	}
	if _, err := permission.Excluding([]string{"Shell(rm"}); err == nil || !strings.Contains(err.Error(), `"Shell(rm": `) {
		t.Errorf("an entry that cannot be read: %v", err)
	}
}
