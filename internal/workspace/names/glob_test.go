package names

import "testing"

func TestMaySecret(t *testing.T) {
	for _, pattern := range []string{
		"/p/.e*", "/p/.env*", "/p/.en?", "/p/.[e]nv", "/p/.ENV?*", "/p/*", "/p/*.pem", "/p/*.p?m", "/p/id_*", "/p/*rsa", "/p/*.json", "/p/.*", "/p/s*/*.key",
		"/home/me/.s*/x", "/home/me/.ssh/*", "/home/*/.ssh/x", "/etc/sh*", "/proc/*/environ", "/p/.en[", "/p/cred*", "/p/[", "/p/.e\\nv*", "/p/a*", "/p/README*",
	} {
		if _, ok := MaySecret(pattern); !ok {
			t.Errorf("%q cannot name a secret", pattern)
		}
	}
	for _, pattern := range []string{"/p/*.go", "/p/src/*.md", "/p/src/*/main.go", "/p/*.txt", "/p/test?.py", "/p/\\*", ""} {
		if name, ok := MaySecret(pattern); ok {
			t.Errorf("%q may name %s", pattern, name)
		}
	}
	for _, pattern := range []string{"/p/*", "/p/*.pem", "/p/id_*", "/p/.env*"} {
		name, _ := MaySecret(pattern)
		if _, ok := Secret("/p/" + name); !ok {
			t.Errorf("%q: the example %q is not secret", pattern, name)
		}
	}
}

func TestMaySecretBelow(t *testing.T) {
	for _, pattern := range []string{".en?", ".e*", "*.pem", "*env", "src/.e*", "*.key", "id_*", "**/.env", ".ssh/*x", "*rc"} {
		if _, ok := MaySecretBelow(pattern); !ok {
			t.Errorf("%q cannot name a secret", pattern)
		}
	}
	for _, pattern := range []string{"*.go", "*.json", "src/*", "*", "**", "*_test.go", "src/**/*.ts", "v1.*", "", "test*"} {
		if name, ok := MaySecretBelow(pattern); ok {
			t.Errorf("%q may name %s", pattern, name)
		}
	}
}

func BenchmarkSecret(b *testing.B) {
	for b.Loop() {
		Secret("/home/me/app/src/internal/main.go")
	}
}
