//go:build unix

package permission_test

import (
	"testing"

	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

func TestOnlyEdits(t *testing.T) {
	p := permission.New(world(), permission.Default)
	for name, test := range map[string]struct {
		r    tool.Request
		want bool
	}{
		"a file of the workspace": {request(reads(root+"/a"), writes(root+"/a")), true},
		"a protected name":        {request(writes(root + "/.git/config")), false},
		"another directory":       {request(writes("/etc/hosts")), false},
		"both":                    {request(writes(root+"/a"), writes("/etc/hosts")), false},
		"an unknown path":         {request(writes("*")), false},
		"a read":                  {request(reads("/etc/hosts")), false},
		"unknown effects":         {request(tool.Anything), false},
	} {
		if got := p.OnlyEdits(test.r); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
