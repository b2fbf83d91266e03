package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/engine/broker"
)

// General are the settings about stored sessions and the prompt.
type General struct {
	ChatRecording     bool
	CleanupPeriodDays int // after which sessions are deleted; 0 or less: never
	// maximum size of Adze's directory, above which the oldest sessions are deleted; 0 or less: no limit
	MaxStateBytes int64
	VimMode       bool // vim's keys in the prompt
}

// generalKeys returns settings about the user's state. A project can't change what is stored of the user's work.
func generalKeys() []key {
	return []key{
		{
			name: "general.chatRecording", own: true, preset: "true", shape: booleanShape,
			about: "Record sessions, so that they can be resumed.",
			put:   boolean(func(s *Settings) *bool { return &s.General.ChatRecording }),
		},
		{
			name: "general.cleanupPeriodDays", own: true, preset: "0", shape: integerShape,
			about: "Delete sessions that weren't used for this many days; 0 for never.",
			put:   integer(func(s *Settings) *int { return &s.General.CleanupPeriodDays }),
		},
		{
			name: "general.maxStateBytes", own: true, preset: "0", shape: integerShape,
			about: "Delete the oldest sessions while Adze's directory is larger than this; 0 for no limit.",
			put:   wide(func(s *Settings) *int64 { return &s.General.MaxStateBytes }),
		},
		{
			name: "general.vimMode", own: true, preset: "false", shape: booleanShape,
			about: "Vim keys in the prompt of the terminal; /vim switches them.",
			put:   boolean(func(s *Settings) *bool { return &s.General.VimMode }),
		},
	}
}

// Telemetry are the settings about the collector of OpenTelemetry.
type Telemetry struct {
	Endpoint string // URL of the collector; "": nothing is collected
	Content  bool   // spans have prompts, arguments, results and commands
}

// telemetryKeys returns settings that a project must not have: it could send the user's work elsewhere.
// Their names aren't those of Qwen Code, whose files would turn on what its users never asked of Adze.
func telemetryKeys() []key {
	return []key{
		{
			name: "otel.endpoint", own: true, shape: stringShape, env: []string{"OTEL_EXPORTER_OTLP_ENDPOINT"},
			about: "URL of the OpenTelemetry collector that gets traces and metrics. See telemetry.md.",
			put:   text(func(s *Settings) *string { return &s.Telemetry.Endpoint }),
		},
		{
			name: "otel.content", own: true, preset: "false", shape: booleanShape,
			about: "Send prompts, arguments, results and commands too, with masked secrets.",
			put:   boolean(func(s *Settings) *bool { return &s.Telemetry.Content }),
		},
	}
}

// defaultGeneral keeps all sessions.
func defaultGeneral() General { return General{ChatRecording: true} }

// wide reads an integer that can be larger than 32 bits.
func wide(at func(*Settings) *int64) func(*Settings, given) (string, error) { return whole(1<<53, at) }

// Undo is how much of a workspace is saved before commands run. Values below 0 are 0: nothing is saved.
type Undo struct {
	MaxFileBytes int64 // larger files are saved only if the file system can clone them
	MaxBytes     int64 // of all copied files
	MaxFiles     int
}

// undoKeys returns settings about undo. A project can't make the user's own work unrestorable.
func undoKeys() []key {
	return []key{
		{
			name: "undo.maxFileBytes", own: true, preset: "2147483648", shape: integerShape,
			about: "Copy files up to this size for undo. Larger ones are saved only if the file system can clone them.",
			put:   wide(func(s *Settings) *int64 { return &s.Undo.MaxFileBytes }),
		},
		{
			name: "undo.maxBytes", own: true, preset: "2147483648", shape: integerShape,
			about: "Maximum size of the copies for undo, the smallest files first. Clones don't count.",
			put:   wide(func(s *Settings) *int64 { return &s.Undo.MaxBytes }),
		},
		{
			name: "undo.maxFiles", own: true, preset: "250000", shape: integerShape,
			about: "Maximum number of files to save for undo, the newest first.",
			put:   integer(func(s *Settings) *int { return &s.Undo.MaxFiles }),
		},
	}
}

// defaultUndo saves 250,000 files, and 2 GB in all.
func defaultUndo() Undo {
	return Undo{MaxFileBytes: 2 << 30, MaxBytes: 2 << 30, MaxFiles: 250_000}
}

// putFileNames reads the names of context files: one name, or a list. A later file's value replaces it.
func putFileNames(s *Settings, g given) (note string, err error) {
	var one string
	names := []Entry{}
	if json.Unmarshal(g.json(), &one) == nil {
		names = append(names, Entry{one, g.from})
	} else if _, err := entries(func(*Settings) *[]Entry { return &names })(s, g); err != nil {
		return "", mustBe("a file's name, or a list of them", g)
	}
	s.Context.FileNames = nil
	for _, e := range names {
		if e.Text == "" || e.Text == "." || e.Text == ".." || strings.ContainsAny(e.Text, "/\\\x00") {
			note = fmt.Sprintf("%q is not a file name without a directory, ignored", e.Text)
			continue
		}
		s.Context.FileNames = append(s.Context.FileNames, e)
	}
	return note, nil
}

// Web are the settings of web access.
type Web struct {
	AllowPrivateHosts []Entry // hosts on this machine or its network that may be fetched from
	Providers         []SearchProvider
	DefaultProvider   string
	Credentials       []broker.Credential // with variables in their values
}

// SearchProvider is a search engine, in Qwen Code's format.
type SearchProvider struct {
	Type           string `json:"type"`
	APIKey         string `json:"apiKey"`
	SearchEngineID string `json:"searchEngineId"`
	BaseURL        string `json:"baseUrl"`
	Project        bool   `json:"-"` // from a file of the project
}

func webKeys() []key {
	return []key{
		{
			name: "tools.webFetch.allowPrivateHosts", own: true, shape: listShape, adds: true,
			about: "Hosts on this machine or its network that web_fetch may contact.",
			put:   entries(func(s *Settings) *[]Entry { return &s.Web.AllowPrivateHosts }),
		},
		{
			name: "network.credentials", own: true, adds: true, shape: credentialsShape, put: putCredentials,
			about: "Headers that Adze adds to HTTPS requests of sandboxed commands, which don't see them: " +
				"{\"host\": \"api.github.com\", \"header\": \"Authorization\", \"value\": \"Bearer $GITHUB_TOKEN\", " +
				"\"methods\": [\"GET\", \"HEAD\"]}. $NAME is an environment variable, which commands don't get. " +
				"See permissions.md.",
		},
		{
			name: "webSearch.provider", shape: `{"type":"array","items":{"type":"object"}}`,
			about: "Search engines, each with type, apiKey, searchEngineId and baseUrl.", put: putProviders,
		},
		{
			name: "webSearch.default", shape: stringShape,
			about: "Type of the search engine that web_search uses first.",
			put:   text(func(s *Settings) *string { return &s.Web.DefaultProvider }),
		},
	}
}

const credentialsShape = `{"type":"array","items":{"type":"object","additionalProperties":false,"properties":{` +
	`"host":{"type":"string"},"header":{"type":"string"},"value":{"type":"string"},` +
	`"methods":{"type":"array","items":{"type":"string"}}}}}`

// putCredentials adds credentials to those of weaker sources.
func putCredentials(s *Settings, g given) (string, error) {
	var list []broker.Credential
	d := json.NewDecoder(bytes.NewReader(g.json()))
	d.DisallowUnknownFields()
	if d.Decode(&list) != nil {
		return "", errors.New(`must be a list of {"host": …, "header": …, "value": …, "methods": […]}`)
	}
	s.Web.Credentials = slices.Concat(s.Web.Credentials, list)
	return "", nil
}

// putProviders reads the list of search engines; a later file's list replaces it.
func putProviders(s *Settings, g given) (note string, err error) {
	var list []SearchProvider
	if json.Unmarshal(g.json(), &list) != nil {
		return "", mustBe("a list of objects with type, apiKey, searchEngineId and baseUrl", g)
	}
	for i := range list {
		list[i].Project = g.project
	}
	s.Web.Providers = list
	return "", nil
}
