package openai

import "strings"

// thinkTags separates a leading <think>…</think> from the text of an answer. Local servers leave the tags of a
// thinking model in the content. Only tags at the very beginning count: later ones are text about tags, or code.
type thinkTags struct {
	state thinkState
	held  string // may be the beginning of a tag
}

type thinkState int

const (
	atStart      thinkState = iota // nothing but whitespace came
	thinkOpened                    // <think> came, and nothing but whitespace after it
	thinking                       // inside
	thinkClosed                    // </think> came, and nothing but whitespace after it
	pastThinking                   // everything is text
)

const (
	thinkOpen  = "<think>"
	thinkClose = "</think>"
	whitespace = " \t\r\n"
)

// add adds a piece of content and returns the thought and text that are known by now.
func (t *thinkTags) add(piece string) (thought, text string) {
	t.held += piece
	if t.state == atStart {
		trimmed := strings.TrimLeft(t.held, whitespace)
		rest, opened := strings.CutPrefix(trimmed, thinkOpen)
		switch {
		case opened:
			t.state, t.held = thinkOpened, rest
		case strings.HasPrefix(thinkOpen, trimmed):
			return "", ""
		default:
			t.state = pastThinking
		}
	}
	if t.state == thinkOpened {
		if t.held = strings.TrimLeft(t.held, whitespace); t.held != "" {
			t.state = thinking
		}
	}
	if t.state == thinking {
		before, after, closed := strings.Cut(t.held, thinkClose)
		if !closed {
			n := len(t.held) - overlap(t.held, thinkClose)
			thought, t.held = t.held[:n], t.held[n:]
			return thought, ""
		}
		thought, t.state, t.held = before, thinkClosed, after
	}
	if t.state == thinkClosed {
		if t.held = strings.TrimLeft(t.held, whitespace); t.held != "" {
			t.state = pastThinking
		}
	}
	if t.state == pastThinking {
		text, t.held = t.held, ""
	}
	return thought, text
}

// rest returns the held text at the end of the answer. A thought without its end tag is still a thought.
func (t *thinkTags) rest() (thought, text string) {
	held := t.held
	t.held = ""
	if t.state == thinkOpened || t.state == thinking {
		return held, ""
	}
	return "", held
}

// overlap returns the length of the longest suffix of s that is a prefix of tag.
func overlap(s, tag string) int {
	for n := min(len(s), len(tag)-1); n > 0; n-- {
		if strings.HasSuffix(s, tag[:n]) {
			return n
		}
	}
	return 0
}
