package models

import (
	"cmp"
	"strings"

	"github.com/adze-dev/adze/tool"
)

// family is how a family of models writes edits, and where that is known from.
type family struct {
	word    string // in the names of its models
	dialect tool.Dialect
	source  string
}

// families returns the families whose dialect is known, special ones first. Other models write replacements.
func families() []family {
	const gpt5 = "github.com/openai/codex, codex-rs/core/src/tools/handlers/apply_patch_spec.rs: well-suited for GPT-5"
	return []family{
		{"gpt-5", tool.PatchDialect, gpt5},
		{"codex", tool.PatchDialect, gpt5},
		{"gpt-4.1", tool.PatchDialect,
			"OpenAI, GPT-4.1 Prompting Guide, appendix: trained extensively on the recommended diff format"},
		{"claude", tool.ReplaceDialect, "Anthropic, text editor tool: str_replace"},
		{"qwen", tool.ReplaceDialect,
			"github.com/QwenLM/qwen-code, packages/core/src/tools/edit.ts: old_string, new_string"},
		{"gemini", tool.ReplaceDialect,
			"github.com/google-gemini/gemini-cli, packages/core/src/tools/edit.ts: old_string, new_string"},
	}
}

// Dialect returns how the model of a name writes edits: by settings, or by its name.
func (m *Models) Dialect(name string) tool.Dialect {
	for _, e := range m.settings.Model.Named(name) {
		if d := tool.Dialect(e.Config.Dialect); d.Known() {
			return d
		}
	}
	return cmp.Or(tool.Dialect(m.settings.Model.Dialect), familyDialect(name))
}

func familyDialect(name string) tool.Dialect {
	for _, f := range families() {
		if strings.Contains(strings.ToLower(name), f.word) {
			return f.dialect
		}
	}
	return tool.ReplaceDialect
}
