package openai

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// The next request of a conversation with 500 messages, whose results have 1 and 10 KB.
func BenchmarkNextRequest(b *testing.B) {
	for _, size := range []int{1000, 10_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			m, err := Open(b.Context(), Options{BaseURL: "http://127.0.0.1:1/v1", Model: "m"})
			if err != nil {
				b.Fatal(err)
			}
			defer m.Close()
			r := model.Request{System: strings.Repeat("x", 5000), Messages: []model.Message{model.Prompt("go")}, CacheKey: "k"}
			for i := range 250 {
				id := fmt.Sprint("c", i)
				r.Messages = append(r.Messages,
					model.Message{Role: model.Assistant, Parts: []model.Part{
						model.Call{Call: tool.Call{ID: id, Name: "read_file", Args: json.RawMessage(`{"absolute_path":"/a/b/c","limit":1000}`)}},
					}},
					model.Message{Role: model.Tool, Parts: []model.Part{
						model.Response{ID: id, Name: "read_file", Content: []tool.Part{tool.Text(strings.Repeat("0123456789 abcde\n", size/17))}},
					}})
			}
			for b.Loop() {
				if _, err := m.encode(r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
