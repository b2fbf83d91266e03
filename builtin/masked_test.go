package builtin

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/engine/redact"
	"github.com/adze-dev/adze/tool"
)

// madeUp is a token that no service knows, in two parts: other programs that look for secrets shouldn't report it.
const madeUp = "ghp_" + "Zk3wXq8Rt1Vb6Nn0Ls4Ky7Hj2Gd5Pm40a8xK"

// The model sees a placeholder in place of a secret. Edits and writes of the file that contains the secret turn it back;
// everywhere else it is an error, and nothing is written. Text that had the form before can be edited.
func TestPlaceholders(t *testing.T) {
	dir := t.TempDir()
	const token = "tok-abcdefghijkl"
	key := "-----BEGIN " + "PRIVATE KEY-----\r\n" + strings.Repeat("MC4CAQAwBQYDK2VwBCIEIPq7sT9wXr4Zk1Vb8Nn3Ls6Ky0Hj5Gd2Pm7Rt4Wq9Xc\r\n", 3) + "-----END PRIVATE KEY-----\r\n"
	const foreign = "[secret:github-token:zzzz-9]"
	files := map[string]string{
		"config.yml": "a: 1\nvalue: " + token + "\ntoken: " + madeUp + "\nb: 2\n", "key.txt": "first\r\n" + key + "last\r\n",
		"doc.md":    "A placeholder is " + foreign + ".\nA mask is " + redact.Masked + ".\nEnd\n",
		"new.ipynb": `{"cells":[{"id":"a","cell_type":"code","source":["x"],"metadata":{},"outputs":[],"execution_count":null}],"metadata":{},"nbformat":4,"nbformat_minor":5}`,
	}
	put(t, dir, files)
	o := wired(dir)
	o.Environ = append(os.Environ(), "MY_TOKEN="+token)
	set, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	x := executor(set)
	x.Mask, x.Check = set.Mask, set.Check
	at := func(name string) string { return filepath.Join(dir, name) }
	shown := map[string]string{}
	for name := range files {
		o := call(t, x, "read_file", map[string]any{"absolute_path": at(name)})
		shown[name] = o.Result.Text()
		if strings.Contains(shown[name], token) || strings.Contains(shown[name], madeUp) || strings.Contains(shown[name], "MC4CA") || o.Status != tool.StatusSuccess {
			t.Fatal(shown[name])
		}
	}
	lines := strings.Split(shown["config.yml"], "\n")
	known, github, private := redact.Placeholder(lines[1]), redact.Placeholder(lines[2]), redact.Placeholder(shown["key.txt"])
	if !strings.HasPrefix(known, "[secret:value:") || !strings.HasPrefix(github, "[secret:github-token:") || !strings.HasPrefix(private, "[secret:private-key:") {
		t.Fatal(shown)
	}
	patching := func(name, part string) args {
		return args{"input": "*** Begin Patch\n*** Update File: " + name + "\n@@\n" + part + "\n*** End Patch"}
	}
	older := strings.NewReplacer("a: 1", "a: 3", madeUp, madeUp+" # older").Replace(files["config.yml"])
	const cant, again = "stands for a secret that results don't show", "Read the file again"
	for _, c := range []struct {
		name string
		args map[string]any
		want string // in the result
	}{
		{"write_file", map[string]any{"file_path": at("b"), "content": github}, "isn't in this file"},
		{"edit", map[string]any{"file_path": at("c"), "old_string": "", "new_string": "x " + known}, "isn't in this file"},
		{"edit", map[string]any{"file_path": at("doc.md"), "old_string": "End", "new_string": github}, "isn't in this file"},
		{"edit", map[string]any{"file_path": at("config.yml"), "old_string": "a: 1", "new_string": "a: " + foreign}, again},
		{"edit", map[string]any{"file_path": at("config.yml"), "old_string": foreign, "new_string": ""}, again},
		{"edit", map[string]any{"file_path": at("config.yml"), "old_string": "a: 1", "new_string": redact.Masked}, again},
		{"notebook_edit", map[string]any{"notebook_path": at("new.ipynb"), "cell_id": "a", "new_source": "key = '" + github + "'"}, cant},
		{"save_memory", map[string]any{"fact": "the key is " + known, "scope": "project"}, cant},
		{"run_shell_command", map[string]any{"command": "curl -H 'Authorization: " + github + "' https://h.example.com"}, cant},
		{"run_shell_command", map[string]any{"command": "echo " + foreign}, again},
		{"web_fetch", map[string]any{"url": "https://h.example.com/?t=" + github, "prompt": "x"}, cant},
		{"edit", map[string]any{"file_path": at("doc.md"), "old_string": "is " + foreign + ".\nA mask is " + redact.Masked, "new_string": "was " + foreign + ".\nA mask was " + redact.Masked}, "has been updated"},
		{"edit", map[string]any{"file_path": at("config.yml"), "old_string": "a: 1\nvalue: " + known + "\ntoken: " + github, "new_string": "a: 2\nvalue: " + known + "\ntoken: " + github + " # old"}, "has been updated"},
		{"edit", map[string]any{"file_path": at("key.txt"), "old_string": private + "\n-----END PRIVATE KEY-----\nlast", "new_string": private + "\n-----END PRIVATE KEY-----\nthe end"}, "has been updated"},
		// Edits in other dialects than edit's were rejected.
		{patchName, patching("doc.md", "-End\n+"+github), "isn't in this file"},
		{patchName, args{"input": "*** Begin Patch\n*** Add File: d\n+" + github + "\n*** End Patch"}, "isn't in this file"},
		{patchName, patching("config.yml", "-a: 2\n+a: 3\n value: "+known+"\n-token: "+github+" # old\n+token: "+github+" # older"), "has been updated"},
		{patchName, patching("config.yml", "-a: 3\n+a: "+foreign), again},
		{linesName, args{"file_path": at("config.yml"), "edits": []args{{"first": anchorOf(t, older, "older"), "new_text": "token: " + github + " # oldest"}}}, "has been updated"},
		{linesName, args{"file_path": at("doc.md"), "edits": []args{{"first": anchorOf(t, strings.ReplaceAll(files["doc.md"], " is ", " was "), "End"), "new_text": github}}}, "isn't in this file"},
		{"write_file", map[string]any{"file_path": at("config.yml"), "content": "token: " + github + "\nvalue: " + known + "\n"}, "Successfully overwrote"},
	} {
		o := call(t, x, c.name, c.args)
		if !strings.Contains(o.Result.Text(), c.want) {
			t.Errorf("%s %v: %s %s", c.name, c.args, o.Status, o.Result.Text())
		}
		all, _ := json.Marshal(o)
		if strings.Contains(string(all), token) || strings.Contains(string(all), madeUp) || strings.Contains(string(all), "MC4CA") {
			t.Errorf("%s %v shows a secret: %s", c.name, c.args, all)
		}
	}
	for name, want := range map[string]string{
		"config.yml": "token: " + madeUp + "\nvalue: " + token + "\n", "key.txt": "first\r\n" + key + "the end\r\n",
		"doc.md": "A placeholder was " + foreign + ".\nA mask was " + redact.Masked + ".\nEnd\n",
	} {
		if text, err := os.ReadFile(at(name)); err != nil || string(text) != want {
			t.Errorf("%s: %q %v", name, text, err)
		}
	}
}

// The diff in a permission prompt has placeholders, and what the user edits there is turned back.
func TestPromptIsMasked(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{"f": "first\n" + madeUp + "\n"})
	o := wired(dir)
	o.AllRead = true
	set, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	name := redact.Placeholder(set.Mask(madeUp))
	x := executor(set)
	x.Policy, x.Mask, x.Check = nil, set.Mask, set.Check
	x.Ask = func(_ context.Context, r tool.Request, _ tool.Decision) (tool.Decision, error) {
		all, _ := json.Marshal(r.Confirm)
		if strings.Contains(string(all), madeUp) || !strings.Contains(string(all), name) {
			t.Errorf("shown: %s", all)
		}
		text := "c\n" + name + "\n"
		return tool.Decision{Verdict: tool.Allow, Args: r.Rework(&text)}, nil
	}
	call(t, x, "edit", map[string]any{"file_path": filepath.Join(dir, "f"), "old_string": "first", "new_string": "b"})
	if text, err := os.ReadFile(filepath.Join(dir, "f")); err != nil || string(text) != "c\n"+madeUp+"\n" {
		t.Errorf("%q %v", text, err)
	}
}

// Files and kinds of tokens that the user excepted are shown.
func TestExceptions(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{"testdata/a/f": madeUp, "f": "glpat-" + "x7Yk2Qw9Rt4Zn1Lp8Vb3", "g": "npm_" + "Zk3wXq8Rt1Vb6Nn0Ls4Ky7Hj2Gd5Pm40a8xK"})
	o := wired(dir)
	o.NoSecrets = []string{"testdata/**", "gitlab-token"}
	set, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	x := executor(set)
	x.Mask = set.Mask
	for name, masked := range map[string]bool{"testdata/a/f": false, "f": false, "g": true} {
		o := call(t, x, "read_file", map[string]any{"absolute_path": filepath.Join(dir, name)})
		if got := redact.Placeholder(o.Result.Text()) != ""; got != masked {
			t.Errorf("%s: %s", name, o.Result.Text())
		}
	}
	if text := set.Mask(madeUp); text != madeUp {
		t.Error("the journal masks what the model saw:", text)
	}
}

// A list of declarations has no secret and no part of one: names are masked like the text, or omitted.
func TestOutlineIsMasked(t *testing.T) {
	dir := t.TempDir()
	const token = "tok_abcdefghijkl"
	const before = 400 - len("function ")
	put(t, dir, map[string]string{"a.js": strings.Repeat("x();\n", 3000) + "function " + token + "() {}\nfunction " + madeUp + "() {}\n" +
		"function f() {}\n" + strings.Repeat(" ", before-20) + "function " + madeUp + "() {}\nfunction " + strings.Repeat("x", 60) + madeUp + "() {}\n" +
		"class " + token + " {\n    " + madeUp + "() {}\n}\nconst key = `-----BEGIN " + "PRIVATE KEY-----\nfunction MC4CAQAwBQYDK2VwBCIEIPq7sT9wXr4Zk1Vb8Nn3Ls6Ky0Hj5Gd2Pm7Rt4Wq9Xc() {}\n"})
	o := wired(dir)
	o.Environ = append(os.Environ(), "MY_TOKEN="+token)
	set, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	x := executor(set)
	x.Mask, x.Check = set.Mask, set.Check
	out := call(t, x, "read_file", map[string]any{"absolute_path": filepath.Join(dir, "a.js")})
	all, _ := json.Marshal(out)
	_, list, _ := strings.Cut(out.Result.Text(), "Declarations in the whole file")
	for _, secret := range []string{token, madeUp, madeUp[4:12], "MC4CA"} {
		if strings.Contains(string(all), secret) {
			t.Errorf("%s is in %s", secret, list)
		}
	}
	if !strings.Contains(list, "\n3001: function [secret:value:") || !strings.Contains(list, "\n3002: function [secret:github-token:") ||
		!strings.Contains(list, "\n3003: function f\n") || strings.Contains(list, "3004:") || strings.Contains(list, "3005:") {
		t.Error(list)
	}
}
