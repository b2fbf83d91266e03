package settings

// Undo is how much of a workspace is saved before commands run. Values below 0 are 0: nothing is saved.
type Undo struct {
	MaxFileBytes int64 // larger files aren't saved
	MaxBytes     int64 // of all files
	MaxFiles     int
}

// undoKeys are settings about what undo can restore. A project can't make the user's own work unrestorable.
func undoKeys() []key {
	return []key{
		{
			name: "undo.maxFileBytes", own: true, preset: "4194304", shape: integerShape,
			about: "Larger files of the workspace aren't saved for undo.",
			put:   wide(func(s *Settings) *int64 { return &s.Undo.MaxFileBytes }),
		},
		{
			name: "undo.maxBytes", own: true, preset: "536870912", shape: integerShape,
			about: "Save at most this much of the workspace for undo, the smallest files first.",
			put:   wide(func(s *Settings) *int64 { return &s.Undo.MaxBytes }),
		},
		{
			name: "undo.maxFiles", own: true, preset: "100000", shape: integerShape,
			about: "Of a workspace with more files, only this many are saved for undo.",
			put:   integer(func(s *Settings) *int { return &s.Undo.MaxFiles }),
		},
	}
}

// defaultUndo saves 100,000 files of up to 4 MB, and 512 MB in all.
func defaultUndo() Undo {
	return Undo{MaxFileBytes: 4 << 20, MaxBytes: 512 << 20, MaxFiles: 100_000}
}
