package cli

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/app/models"
	"github.com/adze-dev/adze/internal/app/tui"
	"github.com/adze-dev/adze/tool"
)

// header is what a conversation starts with: the directory, trust, notices and, for a fresh one, examples. The model is
// found meanwhile.
func (h *screenHost) header(notices []string, fresh bool) []tui.Row {
	place := homeRelative(h.session.Directory.Path, h.env.Home)
	if branch := h.branch.Name(h.session.Directory.Path); branch != "" {
		place += " (" + branch + ")"
	}
	rows := []tui.Row{{Label: "Adze", Text: place}}
	if text := h.untrusted(); text != "" {
		rows = append(rows, tui.Row{Label: "trust", Text: text, Hint: h.trustHint()})
	}
	for _, n := range notices {
		label := "note"
		for l := range strings.SplitSeq(strings.TrimRight(n, "\n"), "\n") {
			rows = append(rows, tui.Row{Label: label, Text: l})
			label = ""
		}
	}
	if !fresh {
		return rows
	}
	label := "try"
	for _, text := range h.examples() {
		rows = append(rows, tui.Row{Label: label, Text: text})
		label = ""
	}
	return rows
}

// untrusted says what the project's files request, if the project is not trusted.
func (h *screenHost) untrusted() string {
	switch n := len(h.session.Settings.Withheld()); n {
	case 0:
		return ""
	case 1:
		return "this project requests 1 setting; ignored until trusted"
	default:
		return fmt.Sprintf("this project requests %d settings; ignored until trusted", n)
	}
}

// trustHint is how the user can trust the project.
func (h *screenHost) trustHint() string {
	if slices.Contains(h.commands.Names(), "trust") {
		return "/trust"
	}
	return "adze trust"
}

// maxRows is how many names of the directory are looked at for an example.
const maxRows = 500

// examples are prompts that fit the project.
func (h *screenHost) examples() []string {
	fails := "why does the last test fail?"
	if name := testFile(h.session.Directory.Path); name != "" {
		fails = "why does the test in " + tool.Visible(name) + " fail?"
	}
	return []string{"what does this project do?", fails, "/plan add a --json flag to the list command"}
}

// testFile is the name of a file with tests in a directory, if it is among the first.
func testFile(dir string) string {
	f, err := os.Open(dir)
	if err != nil {
		return ""
	}
	defer f.Close()
	names, _ := f.Readdirnames(maxRows) // of those that can be read
	slices.Sort(names)
	for _, name := range names {
		base := strings.TrimSuffix(name, filepath.Ext(name))
		if ext := filepath.Ext(name); ext != "" &&
			(strings.HasSuffix(base, "_test") || strings.HasSuffix(base, ".test") || strings.HasPrefix(base, "test_")) {
			return name
		}
	}
	return ""
}

// lookup finds the model.
func (h *screenHost) lookup(ctx context.Context) []tui.Row {
	m, err := h.open(ctx)
	if err != nil {
		return []tui.Row{{
			Label: "model", Text: "none. Set OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY, or start Ollama. " +
				"Try: adze demo",
		}}
	}
	return []tui.Row{{
		Label: "model", Text: tool.Visible(m.Name()) + modelPlace(h.session.Models.Where()), Hint: "/model",
	}}
}

// localPorts are the servers that listen on this machine by default.
var localPorts = map[string]string{"11434": "Ollama", "8080": "llama.cpp", "1234": "LM Studio"}

// modelPlace is where a model is, for people: " at 127.0.0.1:11434 (Ollama, auto-detected)".
func modelPlace(where models.Place) string {
	u, err := url.Parse(where.URL)
	if err != nil || u.Host == "" {
		return ""
	}
	text := " at " + tool.Visible(u.Host)
	if where.Detected {
		if name := localPorts[u.Port()]; name != "" {
			return text + " (" + name + ", auto-detected)"
		}
		return text + " (auto-detected)"
	}
	return text
}
