package tui

// History is the prompts of earlier sessions and of this one.
type History struct {
	Prompts []string          // oldest first
	Save    func(text string) // called for each new prompt; may be nil

}

// add adds a prompt, unless it repeats the last one.
func (h *History) add(text string) {
	if n := len(h.Prompts); n > 0 && h.Prompts[n-1] == text {
		return
	}
	h.Prompts = append(h.Prompts, text)
	if h.Save != nil {
		h.Save(text)
	}
}

// browse is a walk through the history. The zero value is not in it.
type browse struct {
	back  int    // how far, from the end; 0: not in it
	draft string // what was typed before
}

// earlier is the prompt before.
func (b *browse) earlier(h History, typed string) (string, bool) {
	if b.back >= len(h.Prompts) {
		return "", false
	}
	if b.back == 0 {
		b.draft = typed
	}
	b.back++
	return h.Prompts[len(h.Prompts)-b.back], true
}

// later is the prompt after, and at the end what was typed before.
func (b *browse) later(h History) (string, bool) {
	if b.back == 0 {
		return "", false
	}
	b.back--
	if b.back == 0 {
		return b.draft, true
	}
	return h.Prompts[len(h.Prompts)-b.back], true
}

// leave ends the walk: the text was changed.
func (b *browse) leave() { *b = browse{} }
