package builtin

import "testing"

// A line that stands for code is found in the ways that models write it, and in no ordinary line.
func TestOmitted(t *testing.T) {
	for _, line := range []string{
		"// ... existing code ...", "// existing code", "# rest of the file unchanged", "… rest unchanged …", "... rest of the code ...",
		"/* ... rest of implementation ... */", "{/* existing code */}", "<!-- rest of the content -->", "-- rest of file remains unchanged",
		"# ... (rest of the function)", "// Rest of your existing code remains the same", "// … other methods …", "...existing code...",
		"    // ... unchanged ...", "// remaining methods unchanged", "; rest of the file", "% code omitted for brevity", "[... rest of file unchanged ...]",
		"// ... existing imports ...", "// ... keep existing code ...", "# keep the rest unchanged", "// (existing code here)", "* the rest of this class stays the same",
	} {
		if n, got := omission("a.go", "x\n", "one\n"+line+"\ntwo\n"); n != 2 {
			t.Errorf("%q: line %d, %q", line, n, got)
		}
		if n, _ := omission("a.go", "x\n  "+line+"\n", "one\n"+line+"\n"); n != 0 {
			t.Errorf("%q: the old content has it", line)
		}
	}
	for _, line := range []string{
		"...", "…", "// ...", "# Existing code paths are kept", "// The rest is up to the caller.", "func rest() {", "- existing tests", "x = existing",
		"// other options", "# remaining tests", "// existing methods of the interface", "return rest...", "call(existing...)", "print(\"...\")", "args, ...rest",
		"// Unchanged reports whether the file is unchanged.", "f(...)", "def f(self): ...", "// imports", "# tests", "rest", "", "echo rest of the file",
		"type T[existing code] int", "/* loading ... */", "// waiting for other workers ...", "# Please wait...", "}", "// code",
	} {
		if n, got := omission("a.go", "x\n", "one\n"+line+"\n"); n != 0 {
			t.Errorf("%q is found as %q", line, got)
		}
	}
	for line, want := range map[string]int{"# Existing code": 0, "## Rest of the file": 0, "* existing code": 0, "... rest of the file unchanged ...": 1} {
		if n, _ := omission("README.md", "x\n", line+"\n"); n != want {
			t.Errorf("in Markdown, %q: line %d", line, n)
		}
	}
}
