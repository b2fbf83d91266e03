package cli

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/adze-dev/adze/internal/tui"
)

const (
	// maxPrompts is how many earlier prompts are kept in memory.
	maxPrompts = 1000
	// maxPromptFile is the size at which the file of prompts is cut to those.
	maxPromptFile = 4 << 20
)

// promptHistory is the prompts that the user typed in earlier conversations: a line of JSON each, for the user's eyes only.
func promptHistory(home string) tui.History {
	path := filepath.Join(home, "prompts.jsonl")
	h := tui.History{Prompts: readPrompts(path)}
	h.Save = func(text string) { _ = appendPrompt(path, text) } // the conversation is more important
	if info, err := os.Stat(path); err == nil && info.Size() > maxPromptFile {
		_ = rewritePrompts(path, h.Prompts)
	}
	return h
}

func readPrompts(path string) []string {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	var out []string
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var text string
		if json.Unmarshal(lines.Bytes(), &text) == nil && text != "" {
			out = append(out, text)
		}
	}
	return out[max(0, len(out)-maxPrompts):]
}

func appendPrompt(path, text string) error {
	if len(text) > 64<<10 {
		return nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	line, err := json.Marshal(text)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return err
}

func rewritePrompts(path string, prompts []string) error {
	if err := os.Remove(path); err != nil {
		return err
	}
	for _, p := range prompts {
		if err := appendPrompt(path, p); err != nil {
			return err
		}
	}
	return nil
}
