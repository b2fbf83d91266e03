package headless_test

import (
	"path/filepath"
	"testing"

	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/model/openai/openaitest"
)

// The result of a call has the files that it changed, in a field that clients of Qwen Code ignore.
func TestChangesInResults(t *testing.T) {
	dir := project.Canonical(t.TempDir())
	server := openaitest.Serve(t, says(
		openaitest.Answer{Calls: []openaitest.Call{
			{ID: "c1", Name: "write_file", Args: []byte(`{"file_path":` + asJSON(filepath.Join(dir, "a.txt")) + `,"content":"one\ntwo\n"}`)},
			{ID: "c2", Name: "list_directory", Args: []byte(`{"path":` + asJSON(dir) + `}`)},
		}}, openaitest.Answer{Text: "Done."}))
	p := start(t, setup{url: server.URL, dir: dir, settings: `{"tools":{"approvalMode":"yolo"}}`, prompt: "go"})
	m := p.until("the results", func(m object) bool { return m["type"] == "user" })
	content, _ := m["message"].(object)["content"].([]any)
	if len(content) != 2 {
		t.Fatalf("%+v", m)
	}
	written, listed := content[0].(object), content[1].(object)
	for _, key := range []string{"type", "tool_use_id", "content", "is_error"} {
		if written[key] == nil {
			t.Errorf("no %s", key)
		}
	}
	found, _ := written["changes"].(object)
	changes, _ := found["list"].([]any)
	if len(changes) != 1 || changes[0].(object)["kind"] != "created" ||
		changes[0].(object)["lines"].(object)["added"] != 2.0 {
		t.Errorf("%s", asJSON(written))
	}
	if listed["changes"] != nil {
		t.Errorf("%s", asJSON(listed))
	}
	p.until("the end", func(m object) bool { return m["type"] == "result" })
}
