package discover_test

import (
	"fmt"

	"github.com/adze-dev/adze/discover"
	"github.com/adze-dev/adze/tool"
)

func ExampleWords() {
	words, err := discover.Words(`python3 "my tools.py" list --all`)
	fmt.Printf("%q %v\n", words, err)
	// Output: ["python3" "my tools.py" "list" "--all"] <nil>
}

func ExampleExpand() {
	lookup := func(name string) (string, bool) { return "secret", name == "TOKEN" }
	fmt.Println(discover.Expand("Bearer $TOKEN at ${HOST:-localhost}", lookup))
	// Output: Bearer secret at localhost
}

func ExampleSelect() {
	servers := map[string]discover.Server{"github": {}, "gitlab": {}, "slack": {}}
	fmt.Println(len(discover.Select(servers, []string{"git*"}, []string{"gitlab"})))
	// Output: 1
}

func ExampleRank() {
	all := []tool.Declaration{
		{Name: "github__create_issue", Description: "Creates an issue."},
		{Name: "github__search_code", Description: "Finds code, not issues."},
	}
	for _, d := range discover.Rank("issue", all, 5) {
		fmt.Println(d.Name)
	}
	// Output:
	// github__create_issue
	// github__search_code
}
