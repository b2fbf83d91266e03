package settings

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Home returns the directory of the user's settings and state: $ADZE_HOME, or .adze in the home directory.
func Home(getenv func(string) string, userHome string) (string, error) {
	if dir := getenv("ADZE_HOME"); dir != "" {
		if !filepath.IsAbs(dir) {
			return "", fmt.Errorf("ADZE_HOME must be an absolute path, got %q", dir)
		}
		return filepath.Clean(dir), nil
	}
	if !filepath.IsAbs(userHome) {
		return "", errors.New("no home directory; set HOME or ADZE_HOME")
	}
	return filepath.Join(userHome, ".adze"), nil
}

// EnsureHome creates the directory, readable only by the user, unless it exists.
func EnsureHome(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("create Adze's directory (set ADZE_HOME to change it): %w", err)
	}
	return nil
}
