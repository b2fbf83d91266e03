package anthropictest

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/adze-dev/adze/model/internal/scripted"
)

// bindings record the requests before each thought.
type bindings struct {
	mu     sync.Mutex
	before map[string]string // by signature, or by data of a redacted thought
}

// prefix is what a thought is bound to.
type prefix struct {
	System, Tools any
	Messages      []any
}

// readPrefix reads a request without its marks for the cache.
func readPrefix(request string) prefix {
	var p prefix
	_ = json.Unmarshal([]byte(request), &p) // it was checked before
	return prefix{unmarked(p.System), unmarked(p.Tools), unmarked(p.Messages).([]any)}
}

func unmarked(v any) any {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "cache_control")
		for _, inner := range v {
			unmarked(inner)
		}
	case []any:
		for _, inner := range v {
			unmarked(inner)
		}
	}
	return v
}

// bind records the request that an answer is for.
func (b *bindings) bind(a Answer, request string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	whole := scripted.JSON(readPrefix(request))
	for _, key := range []string{a.Signature, a.Redacted} {
		if key != "" {
			b.before[key] = whole
		}
	}
}

// check rejects a thought if something before it has changed.
func (b *bindings) check(request string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var r asked
	_ = json.Unmarshal([]byte(request), &r) // it was checked before
	p := readPrefix(request)
	for i, m := range r.Messages {
		for n, c := range m.Content {
			was, bound := b.before[c.Signature+c.Data]
			if bound && was != scripted.JSON(prefix{p.System, p.Tools, p.Messages[:i]}) {
				return fmt.Sprintf("messages.%d.content.%d: Invalid `signature` in `thinking` block. The block is "+
					"bound to a different conversation. "+
					"Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\".", i,
					n)
			}
		}
	}
	return ""
}
