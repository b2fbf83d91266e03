package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// Kept caches the JSON of conversations between requests: only the end is new. Encoding 500 messages again would take
// longer than everything else between an answer and the next request. The zero value is empty.
type Kept struct {
	mu    sync.Mutex
	lists []keptList // the last used one at the end
}

// keptList is a conversation as it was last encoded.
type keptList struct {
	key     string
	how     any
	entries []Entry
	json    [][]byte
}

// Entry is a message with its encoding.
type Entry struct {
	From    model.Message
	Variant uint64 // distinguishes several encodings of the message
	// Values returns the elements of the list, any number: Verbatim, or data for encoding/json. It is called only for
	// messages that are encoded.
	Values func() []any
}

// Verbatim is an element that encodes itself, because encoding/json would change raw JSON in it.
type Verbatim interface{ JSON() ([]byte, error) }

// maxKept is the maximum number of cached conversations: one, and those of a few subagents.
const maxKept = 4

// Object writes an object with the list of a conversation in place of a member that is null: the last one, or one with
// only texts before it. key identifies the conversation. how is a comparable value: everything that the list depends on
// besides its messages. Messages at the same position as in the last request of the conversation aren't encoded again.
// more are further members, merged before the list is inserted, because merging reads the whole object.
func (k *Kept) Object(object any, member, key string, how any, entries []Entry,
	more ...map[string]json.RawMessage) ([]byte, error) {
	body, err := Marshal(object)
	for _, members := range more {
		if err == nil {
			body, err = Merge(body, members)
		}
	}
	if err != nil {
		return nil, err
	}
	null := `"` + member + `":null`
	start, end := bytes.TrimSuffix(body, []byte(null+"}")), []byte("}")
	if len(start) == len(body) {
		found := false
		if start, end, found = bytes.Cut(body, []byte(null)); !found {
			return body, nil // another member replaced it
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	old := k.take(key)
	if old.how != how {
		old = keptList{}
	}
	now := keptList{key: key, how: how, entries: make([]Entry, 0, len(entries)), json: make([][]byte, 0, len(entries))}
	size := len(body) + len(member) + 8
	for i, e := range entries {
		var raw []byte
		if i < len(old.entries) && old.entries[i].Variant == e.Variant && same(old.entries[i].From, e.From) {
			raw = old.json[i]
		} else if raw, err = e.write(); err != nil {
			return nil, fmt.Errorf("write message %d: %w", i+1, err)
		}
		now.entries = append(now.entries, Entry{From: e.From, Variant: e.Variant})
		now.json = append(now.json, raw)
		size += len(raw) + 1
	}
	k.lists = append(k.lists, now)
	out := append(make([]byte, 0, size), start...)
	return append(now.append(out, member), end...), nil
}

// append appends the member with the list.
func (l keptList) append(body []byte, member string) []byte {
	body = append(body, `"`+member+`":[`...)
	first := true
	for _, raw := range l.json {
		if len(raw) == 0 {
			continue
		}
		if !first {
			body = append(body, ',')
		}
		first = false
		body = append(body, raw...)
	}
	return append(body, ']')
}

// take removes the list with this key, or makes room for another.
func (k *Kept) take(key string) keptList {
	i := slices.IndexFunc(k.lists, func(l keptList) bool { return l.key == key })
	if i < 0 {
		if len(k.lists) >= maxKept {
			k.lists = slices.Delete(k.lists, 0, 1)
		}
		return keptList{}
	}
	found := k.lists[i]
	k.lists = slices.Delete(k.lists, i, i+1)
	return found
}

// write returns the elements, separated by commas.
func (e Entry) write() ([]byte, error) {
	var out []byte
	for i, v := range e.Values() {
		if i > 0 {
			out = append(out, ',')
		}
		raw, err := []byte(nil), error(nil)
		if own, ok := v.(Verbatim); ok {
			raw, err = own.JSON()
		} else {
			raw, err = Marshal(v)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, raw...)
	}
	return slices.Clip(out), nil
}

// same reports whether two messages have the same encoding. Strings that share memory are not compared.
func same(a, b model.Message) bool {
	return a.Role == b.Role && slices.EqualFunc(a.Parts, b.Parts, samePart)
}

func samePart(a, b model.Part) bool {
	switch a := a.(type) {
	case model.Text, model.Thought:
		return a == b
	case model.Call:
		b, ok := b.(model.Call)
		return ok && a.ID == b.ID && a.Name == b.Name && bytes.Equal(a.Args, b.Args)
	case model.Sealed:
		b, ok := b.(model.Sealed)
		return ok && a.API == b.API && a.Model == b.Model && bytes.Equal(a.JSON, b.JSON)
	case model.Response:
		b, ok := b.(model.Response)
		return ok && a.ID == b.ID && a.Name == b.Name && a.IsError == b.IsError &&
			slices.EqualFunc(a.Content, b.Content, sameContent)
	case model.Media:
		b, ok := b.(model.Media)
		return ok && sameMedia(a.Media, b.Media)
	}
	return false
}

func sameContent(a, b tool.Part) bool {
	switch a := a.(type) {
	case tool.Text:
		return a == b
	case tool.Media:
		b, ok := b.(tool.Media)
		return ok && sameMedia(a, b)
	}
	return false
}

func sameMedia(a, b tool.Media) bool { return a.MIMEType == b.MIMEType && bytes.Equal(a.Data, b.Data) }
