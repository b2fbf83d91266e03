package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// peers returns the other agents, whose programs are in a directory.
func peers(bin string) []agent {
	all := []agent{codex(bin), claude(bin), qwen(bin), gemini(bin), opencode(bin)}
	for i := range all {
		all[i].version = version(filepath.Join(bin, all[i].name), "--version")
	}
	return all
}

// version returns the number that a program prints about itself, or all of it.
func version(program string, arg string) string {
	cmd := exec.Command(program, arg)
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(program)+":"+os.Getenv("PATH"))
	out, _ := cmd.Output() // the table is of use without it
	words := strings.Fields(string(out))
	for _, word := range words {
		if word = strings.TrimPrefix(word, "v"); word != "" && word[0] >= '0' && word[0] <= '9' {
			return word
		}
	}
	return strings.Join(words, " ")
}

func codex(bin string) agent {
	return agent{
		name: "codex", api: responsesAPI(), noRead: true,
		call: func(w workspace, s step, i int) (string, object) {
			command := echo(i)
			switch s {
			case stepRead:
				command = "cat " + w.small(i)
			case stepPart:
				command = fmt.Sprintf("sed -n %d,%dp large.txt", lineNumber-5, lineNumber+5)
			case stepEdit:
				command = fmt.Sprintf("apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: "+
					"large.txt\n@@\n-%s\n+%s\n"+
					"*** End Patch\nEOF\n", oldLine, newLine)
			}
			return "exec_command", object{"cmd": command}
		},
		command: func(w workspace) ([]string, []string, error) {
			err := write(filepath.Join(w.home, ".codex", "config.toml"), fmt.Sprintf(`model = "scripted"
model_provider = "scripted"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.scripted]
name = "scripted"
base_url = %q
env_key = "SCRIPTED_KEY"
wire_api = "responses"
`, w.url+"/v1"))
			return []string{
				filepath.Join(bin, "codex"), "exec", "--skip-git-repo-check", "--sandbox", "workspace-write", prompt,
			}, []string{"SCRIPTED_KEY=" + key}, err
		},
	}
}

func claude(bin string) agent {
	return agent{
		name: "claude", api: anthropicAPI(),
		call: func(w workspace, s step, i int) (string, object) {
			switch s {
			case stepRead:
				return "Read", object{"file_path": w.small(i)}
			case stepPart:
				return "Read", object{"file_path": w.large(), "offset": lineNumber - 5, "limit": 10}
			case stepEdit:
				return "Edit", object{"file_path": w.large(), "old_string": oldLine, "new_string": newLine}
			}
			return "Bash", object{"command": echo(i), "description": "Print a word"}
		},
		command: func(w workspace) ([]string, []string, error) {
			return []string{filepath.Join(bin, "claude"), "-p", prompt, "--allowedTools", "Read,Edit,Bash"}, []string{
				"ANTHROPIC_BASE_URL=" + w.url, "ANTHROPIC_API_KEY=" + key,
				"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
			}, nil
		},
	}
}

func qwen(bin string) agent {
	return agent{
		name: "qwen", api: openaiAPI(),
		call: func(w workspace, s step, i int) (string, object) {
			switch s {
			case stepRead:
				return "read_file", object{"file_path": w.small(i)}
			case stepPart:
				return "read_file", object{"file_path": w.large(), "offset": lineNumber - 5, "limit": 10}
			case stepEdit:
				return "edit", object{"file_path": w.large(), "old_string": oldLine, "new_string": newLine}
			}
			return "run_shell_command", object{"command": echo(i), "is_background": false}
		},
		command: func(w workspace) ([]string, []string, error) {
			err := write(filepath.Join(w.home, ".qwen", "settings.json"),
				`{"security":{"auth":{"selectedType":"openai"}},"privacy":{"usageStatisticsEnabled":false}}`)
			return []string{filepath.Join(bin, "qwen"), "--approval-mode", "yolo", prompt}, []string{
				"OPENAI_API_KEY=" + key, "OPENAI_BASE_URL=" + w.url + "/v1", "OPENAI_MODEL=scripted",
			}, err
		},
	}
}

func gemini(bin string) agent {
	return agent{
		name: "gemini", api: geminiAPI(),
		call: func(w workspace, s step, i int) (string, object) {
			switch s {
			case stepRead:
				return "read_file", object{"file_path": w.small(i)}
			case stepPart:
				return "read_file", object{
					"file_path": w.large(), "start_line": lineNumber - 5, "end_line": lineNumber + 5,
				}
			case stepEdit:
				return "replace", object{
					"file_path": w.large(), "instruction": "Change a line", "old_string": oldLine,
					"new_string": newLine,
				}
			}
			return "run_shell_command", object{"command": echo(i)}
		},
		command: func(w workspace) ([]string, []string, error) {
			err := write(filepath.Join(w.home, ".gemini", "settings.json"),
				`{"security":{"auth":{"selectedType":"gemini-api-key"}},"privacy":{"usageStatisticsEnabled":false},`+
					`"general":{"disableAutoUpdate":true}}`)
			return []string{
				filepath.Join(bin, "gemini"), "--skip-trust", "--approval-mode", "yolo", "-m", "gemini-2.5-pro", "-p",
				prompt,
			}, []string{"GEMINI_API_KEY=" + key, "GOOGLE_GEMINI_BASE_URL=" + w.url}, err
		},
	}
}

func opencode(bin string) agent {
	return agent{
		name: "opencode", api: openaiAPI(),
		call: func(w workspace, s step, i int) (string, object) {
			switch s {
			case stepRead:
				return "read", object{"filePath": w.small(i)}
			case stepPart:
				return "read", object{"filePath": w.large(), "offset": lineNumber - 5, "limit": 10}
			case stepEdit:
				return "edit", object{"filePath": w.large(), "oldString": oldLine, "newString": newLine}
			}
			return "bash", object{"command": echo(i), "description": "Print a word"}
		},
		command: func(w workspace) ([]string, []string, error) {
			err := write(filepath.Join(w.home, ".config", "opencode", "opencode.json"), fmt.Sprintf(
				`{"autoupdate":false,"share":"disabled","provider":{"scripted":{"npm":"@ai-sdk/openai-compatible",`+
					`"options":{"baseURL":%q,"apiKey":%q},"models":{"scripted":{"name":"scripted","tool_call":true}}}}}`,
				w.url+"/v1", key))
			return []string{filepath.Join(bin, "opencode"), "run", "-m", "scripted/scripted", prompt}, nil, err
		},
	}
}
