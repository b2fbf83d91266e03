package builtin

import "testing"

func TestPatchOf(t *testing.T) {
	const patch = "*** Begin Patch\n*** Delete File: a\n*** End Patch\n"
	for line, dir := range map[string]string{
		"apply_patch <<'EOF'\n" + patch + "EOF":                  "",
		"apply_patch << \"EOF\"\n" + patch + "EOF\n":             "",
		" cd 'sub dir' && apply_patch <<'END'\n" + patch + "END": "sub dir",
		"cd /app/x && apply_patch <<'EOF'\n" + patch + "EOF\n\n": "/app/x",
	} {
		if at, input, ok := patchOf(line); !ok || at != dir || input != patch {
			t.Errorf("%q: %q %q %v", line, at, input, ok)
		}
	}
	for _, line := range []string{
		"apply_patch", "apply_patch a.patch", "apply_patch <<EOF\n" + patch + "EOF", "apply_patch <<'EOF'\n" + patch,
		"apply_patch <<'EOF' && rm x\n" + patch + "EOF", "apply_patch <<'EOF'\n" + patch + "EOF\nrm x",
		"cd $X && apply_patch <<'EOF'\n" + patch + "EOF", "cd a; apply_patch <<'EOF'\n" + patch + "EOF",
		"cd a b && apply_patch <<'EOF'\n" + patch + "EOF", "cd a && cd b && apply_patch <<'EOF'\n" + patch + "EOF",
		"cd ~ && apply_patch <<'EOF'\n" + patch + "EOF", "cd - && apply_patch <<'EOF'\n" + patch + "EOF",
		"cd a & cd b && apply_patch <<'EOF'\n" + patch + "EOF", "apply_patch <<-'EOF'\n" + patch + "EOF",
		"X=1 apply_patch <<'EOF'\n" + patch + "EOF", "cd a\ncd b && apply_patch <<'EOF'\n" + patch + "EOF",
		"apply_patch <<'E''F'\n" + patch + "EF", "apply_patch <<''\n" + patch, "apply_patches <<'EOF'\n" + patch + "EOF",
	} {
		if _, _, ok := patchOf(line); ok {
			t.Errorf("%q is a patch", line)
		}
	}
}

func FuzzPatchOf(f *testing.F) {
	f.Add("cd a && apply_patch <<'EOF'\nx\nEOF\n")
	f.Fuzz(func(t *testing.T, line string) {
		if _, input, ok := patchOf(line); ok && input == "" {
			t.Error("a patch without a text")
		}
	})
}
