package names

import "testing"

// Git takes a directory for a repository by its entries.
func TestGitSigns(t *testing.T) {
	for _, c := range []struct {
		entries []string
		want    bool
	}{
		{[]string{"HEAD", "objects", "refs"}, true},
		{[]string{"HEAD", "objects", "refs", "config", "README.md"}, true},
		{[]string{"head", "Objects", "REFS"}, true}, // where case makes no difference
		{[]string{"HEAD", "commondir"}, true},
		{[]string{"objects", "refs", "config", "hooks"}, false},
		{[]string{"HEAD", "objects"}, false},
		{[]string{"HEAD", "refs"}, false},
		{[]string{"commondir", "objects", "refs"}, false},
		{nil, false},
	} {
		var s GitSigns
		for _, name := range c.entries {
			s |= GitSign(name)
		}
		if s.Repository() != c.want {
			t.Errorf("%q: %v", c.entries, !c.want)
		}
	}
	for name, want := range map[string]bool{".git": true, ".GIT": true, ".git.": true, "x.git": false, ".gitignore": false} {
		if IsGit(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}

// If the workspace is the home directory, everything that programs may read there for the user is protected.
func TestProtectedIn(t *testing.T) {
	home := ProtectedIn([]string{"/home/me"}, "/home/me")
	for path, want := range map[string]bool{
		"/home/me/.tmux.conf": true, "/home/me/.config/nvim/init.lua": true, "/home/me/.anything": true, "/home/me/.local/bin/git": true,
		"/home/me/.local/share/applications/x.desktop": true, "/home/me/.cargo/env": true, "/home/me/bin/ls": true, "/home/me/go/bin/x": true,
		"/home/me/.cache/p10k-instant-prompt-me.zsh": true, "/home/me/.nvm/nvm.sh": true,
		"/home/me/.cache/go-build/ab/cd": false, "/home/me/.cargo/registry/x": false, "/home/me/.m2/repository/x": false, "/home/me/.cargo": false,
		"/home/me/app/main.go": false, "/home/me/app/.eslintrc": false, "/home/me/notes": false, "/home/me/app/bin/ls": false, "/home/me": false,
		"/home/me/app/.git/config": true,
	} {
		if why, ok := home(path); ok != want {
			t.Errorf("%s: %v %s", path, ok, why)
		}
	}
	for _, roots := range [][]string{{"/home/me/app"}, {"/home/me/.config/nvim"}, nil} {
		if why, ok := ProtectedIn(roots, "/home/me")("/home/me/.config/nvim/init.lua"); ok {
			t.Errorf("%q: %s", roots, why)
		}
	}
}

func TestInstructs(t *testing.T) {
	for path, want := range map[string]bool{
		"/p/AGENTS.md": true, "/p/sub/agents.md": true, "/p/CLAUDE.local.md": true, "/p/.cursorrules": true, "/p/.clinerules/x.md": true,
		"/p/.github/copilot-instructions.md": true, "/p/.github/instructions/go.md": true, "/p/deep/NOTES.md": true,
		"/p/README.md": false, "/p/.github/x.md": false, "/p/agents.go": false, "/": false,
	} {
		if Instructs(path, []string{"notes.md"}) != want {
			t.Errorf("%s: %v", path, !want)
		}
	}
}
