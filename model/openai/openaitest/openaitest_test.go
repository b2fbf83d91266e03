package openaitest_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/adze-dev/adze/model/openai/openaitest"
)

func TestParse(t *testing.T) {
	s, err := openaitest.Parse([]byte(`{"models":["m"],"answers":[
		{"expect":["hi"],"text":"hello","faults":{"split":2,"pause":"1ms"}},
		{"calls":[{"id":"a","name":"read_file","args":{"absolute_path":"$WORK/x"}},{"name":"f","args":"not json"}]}
	]}`), map[string]string{"$WORK": `C:\new`, "$W": "wrong"})
	if err != nil {
		t.Fatal(err)
	}
	srv := openaitest.Serve(t, s)
	want := []string{`"content":"he"}`, `"arguments":"{\"absolute_path\":\"C:\\\\new/x\"}"`}
	for i, body := range []string{"hi", ""} {
		resp, err := http.Post(srv.URL+"/chat/completions", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || !strings.Contains(string(got), want[i]) || !strings.HasSuffix(string(got), "data: [DONE]\n\n") {
			t.Errorf("%v\n%s", err, got)
		}
	}
	if _, err := openaitest.Parse([]byte(`{"answers":[{"txt":"a"}]}`), nil); err == nil || !strings.Contains(err.Error(), `"txt"`) {
		t.Errorf("a misspelt key: %v", err)
	}
}

func TestErr(t *testing.T) {
	srv, err := openaitest.Start(openaitest.Script{Answers: []openaitest.Answer{{Expect: []string{"hi"}}, {}}})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	resp, err := http.Post(srv.URL+"/chat/completions", "application/json", strings.NewReader("ho"))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	want := "request 1 lacks \"hi\": ho\nthe script has 2 answers, but 1 were requested"
	if err := srv.Err(); resp.StatusCode != http.StatusBadRequest || err == nil || err.Error() != want {
		t.Errorf("status %d, %v", resp.StatusCode, err)
	}
}
