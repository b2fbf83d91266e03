package permission_test

import (
	"fmt"

	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// A policy decides by what a call touches, whatever tool makes it.
func Example() {
	p := permission.New(permission.World{Roots: []string{"/home/me/app"}, Home: "/home/me"}, permission.Default)
	rules, _, err := permission.ParseRules([]string{"Edit(/docs/**)"}, nil, []string{"Read(~/.ssh/**)"})
	if err != nil {
		panic(err)
	}
	p.SetRules(rules)
	for _, access := range []tool.Access{
		{Verb: tool.Reads, Target: "/home/me/app/main.go"},
		{Verb: tool.Writes, Target: "/home/me/app/main.go"},
		{Verb: tool.Writes, Target: "/home/me/app/docs/guide.md"},
		{Verb: tool.Reads, Target: "/home/me/.ssh/id_ed25519"},
	} {
		d := p.Judge(tool.Request{Invocation: tool.Invocation{Access: []tool.Access{access}}})
		fmt.Printf("%v: %s\n", d.Verdict, d.Why())
	}
	// Output:
	// allow: reads /home/me/app/main.go
	// ask: writes /home/me/app/main.go (mode: default)
	// allow: writes /home/me/app/docs/guide.md (allow rule Edit(/docs/**))
	// deny: reads /home/me/.ssh/id_ed25519, which may be secret (private key or key store) (deny rule Read(~/.ssh/**))
}
