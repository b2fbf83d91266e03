package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// module is a module whose packages are in the program.
type module struct {
	Path, Version, Dir, Sum string
	Main                    bool
}

// listModules returns the modules of the programs on all platforms, without the standard library.
func listModules() ([]module, error) {
	found := map[string]module{}
	for _, system := range []string{"linux", "darwin", "windows"} {
		for dir, program := range map[string]string{".": "./cmd/adze", "fleet": "./cmd/adze-fleet"} {
			text, err := output([]string{"GOOS=" + system, "GOFLAGS=", "CGO_ENABLED=0"}, "go", "-C", dir, "list",
				"-deps", "-json=Module", program)
			if err == nil {
				err = addModules(found, text)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	var all []module
	for _, m := range found {
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b module) int { return strings.Compare(a.Path, b.Path) })
	return all, nil
}

// addModules adds the modules that go list printed, without our own.
func addModules(found map[string]module, text string) error {
	for d := json.NewDecoder(strings.NewReader(text)); ; {
		var p struct{ Module *module }
		if err := d.Decode(&p); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if m := p.Module; m != nil && !m.Main && m.Path != "github.com/adze-dev/adze" &&
			found[m.Path].Version <= m.Version {
			found[m.Path] = *m
		}
	}
}

// thirdParty returns the licenses of modules and of Go, in one text.
func thirdParty(modules []module) ([]byte, error) {
	root, err := output(nil, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString("Adze contains the following software.\n")
	for _, m := range append([]module{{Path: "Go", Dir: root}}, modules...) {
		names, err := licenseFiles(m.Dir)
		if err != nil {
			return nil, err
		}
		if len(names) == 0 {
			return nil, fmt.Errorf("%s has no license file in %s", m.Path, m.Dir)
		}
		for _, name := range names {
			content, err := os.ReadFile(filepath.Join(m.Dir, name))
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(&b, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), strings.TrimSpace(m.Path+" "+m.Version),
				bytes.TrimSpace(content))
		}
	}
	return b.Bytes(), nil
}

// licenseFiles returns the names of the licenses and notices in a directory.
func licenseFiles(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		upper := strings.ToUpper(e.Name())
		if !e.IsDir() && slices.ContainsFunc([]string{"LICENSE", "LICENCE", "COPYING", "NOTICE"},
			func(start string) bool { return strings.HasPrefix(upper, start) }) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// spdx returns a list of the modules in SPDX 2.3.
func spdx(version string, at time.Time, modules []module) ([]byte, error) {
	type ref struct {
		Category string `json:"referenceCategory"`
		Type     string `json:"referenceType"`
		Locator  string `json:"referenceLocator"`
	}
	type pkg struct {
		ID       string `json:"SPDXID"`
		Name     string `json:"name"`
		Version  string `json:"versionInfo"`
		Download string `json:"downloadLocation"`
		Analyzed bool   `json:"filesAnalyzed"`
		License  string `json:"licenseConcluded"`
		Declared string `json:"licenseDeclared"`
		Copy     string `json:"copyrightText"`
		Refs     []ref  `json:"externalRefs,omitempty"`
	}
	type relation struct {
		From string `json:"spdxElementId"`
		Type string `json:"relationshipType"`
		To   string `json:"relatedSpdxElement"`
	}
	const unknown, adze = "NOASSERTION", "SPDXRef-Package-adze"
	packages := []pkg{{
		ID: adze, Name: "adze", Version: version, Download: unknown, License: "Apache-2.0", Declared: "Apache-2.0",
		Copy: unknown,
	}}
	relations := []relation{{"SPDXRef-DOCUMENT", "DESCRIBES", adze}}
	for i, m := range modules {
		id := fmt.Sprintf("SPDXRef-Package-%d", i+1)
		packages = append(packages, pkg{ID: id, Name: m.Path, Version: m.Version, Download: unknown, License: unknown,
			Declared: unknown, Copy: unknown,
			Refs: []ref{{"PACKAGE-MANAGER", "purl", "pkg:golang/" + m.Path + "@" + m.Version}}})
		relations = append(relations, relation{adze, "DEPENDS_ON", id})
	}
	return json.MarshalIndent(map[string]any{
		"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": "adze-" + version,
		"documentNamespace": "https://github.com/adze-dev/adze/releases/" + version,
		"creationInfo": map[string]any{
			"created": at.Format(time.RFC3339), "creators": []string{"Tool: adze-release"},
		},
		"packages": packages, "relationships": relations,
	}, "", "  ")
}
