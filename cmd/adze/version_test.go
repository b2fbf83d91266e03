package main

import (
	"runtime/debug"
	"testing"
)

func TestVersionOf(t *testing.T) {
	built := func(version string, settings ...string) *debug.BuildInfo {
		info := &debug.BuildInfo{Main: debug.Module{Path: "github.com/adze-dev/adze", Version: version}}
		for i := 0; i < len(settings); i += 2 {
			info.Settings = append(info.Settings, debug.BuildSetting{Key: settings[i], Value: settings[i+1]})
		}
		return info
	}
	const commit = "d33710912d0c7e9aa4bbd2a1b2f5a5b1c6d7e8f9"
	for _, c := range []struct {
		name, set string
		info      *debug.BuildInfo
		want      string
	}{
		{"make build", "v1.2.3-4-gabc", built("v1.2.3"), "v1.2.3-4-gabc"},
		{"go install", "", built("v1.2.3"), "v1.2.3"},
		{"go build at a commit", "", built("v0.0.0-20260102030405-d33710912d0c+dirty", "vcs.revision", commit), "v0.0.0-20260102030405-d33710912d0c+dirty"},
		{"a commit without a version", "", built("(devel)", "vcs.revision", commit, "vcs.time", "2026-01-02T03:04:05Z", "vcs.modified", "false"), "devel-d33710912d0c (2026-01-02T03:04:05Z)"},
		{"changed since", "", built("", "vcs.revision", commit, "vcs.modified", "true"), "devel-d33710912d0c+dirty"},
		{"-buildvcs=false", "", built("(devel)"), "devel"},
		{"no build information", "", nil, "devel"},
	} {
		if got := versionOf(c.set, c.info); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
