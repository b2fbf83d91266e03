package main

import "runtime/debug"

// version is set by make build, with -ldflags. go install and go build leave it empty.
var version string

// buildVersion returns the version of this program: what the build set, or what Go recorded in the binary.
func buildVersion() string {
	info, _ := debug.ReadBuildInfo()
	return versionOf(version, info)
}

// versionOf returns the first that is known: the version that the build set, the module's (go install …@v1.2.3, or a
// tag or commit of the checkout), the commit, "devel".
func versionOf(set string, info *debug.BuildInfo) string {
	if set != "" {
		return set
	}
	if info == nil {
		return "devel"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	vcs := map[string]string{}
	for _, s := range info.Settings {
		vcs[s.Key] = s.Value
	}
	v := "devel"
	if rev := vcs["vcs.revision"]; rev != "" {
		v += "-" + rev[:min(len(rev), 12)]
		if vcs["vcs.modified"] == "true" {
			v += "+dirty"
		}
		if when := vcs["vcs.time"]; when != "" {
			v += " (" + when + ")"
		}
	}
	return v
}
