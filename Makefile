# The race detector wants a C compiler; without one the tests run all the same.
RACE := $(shell command -v gcc >/dev/null 2>&1 && echo -race)
# The race detector sleeps a second at every exit; tests start many programs.
export GORACE ?= atexit_sleep_ms=0
# Without the race detector, everything is built with these flags, as the program is: others would compile all packages again.
PLAIN := -trimpath
# Without HTTP/2, which no client of Adze asks for, the program has 550 KB less, and 500 KB without inlined functions in
# internal/app. Tests build programs too.
export GOFLAGS := $(strip $(GOFLAGS) -tags=nethttpomithttp2 -gcflags=github.com/adze-dev/adze/internal/app/...=-l)
test-modules lint soak test-peers test-acpx test-release: export CGO_ENABLED = 0
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
# Functions begin at multiples of 16 bytes, as on arm64, not of 32: 210 KB less.
LDFLAGS := -s -w -funcalign=16 -X main.version=$(VERSION)
NFPM := go run github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.44.1
# What go vet does; it compiles nothing.
VET := go run $(PLAIN) ./internal/dev/vet
STATICCHECK := GOFLAGS="$(GOFLAGS) $(PLAIN)" go run honnef.co/go/tools/cmd/staticcheck@v0.8.2

.PHONY: help build fleet test raced plain test-modules lint ci golden bench bench-peers bench-search fuzz soak test-browser pictures test-peers test-acpx site release test-release test-arm64 test-windows test-386 compare-frameworks

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' Makefile | awk -F ':.*## ' '{printf "make %-18s %s\n", $$1, $$2}'


build: ## bin/adze
	CGO_ENABLED=0 go build $(PLAIN) -ldflags "$(LDFLAGS)" -o bin/adze ./cmd/adze

# adze-fleet: Adze with a message queue inside, for 'adze fleet'.
fleet: ## bin/adze-fleet, for 'adze fleet'
	CGO_ENABLED=0 go -C fleet build $(PLAIN) -ldflags "$(LDFLAGS)" -o ../bin/adze-fleet ./cmd/adze-fleet

# All tests: Go, git and bash are enough. make lint runs vet. A package that takes a minute takes ten on a busy machine.
# Without tables for debuggers, the linker takes half the time.
# The race detector takes ten times as long, so it is for code that runs in several goroutines. Not for packages in which nothing
# starts one, for tests of packages that do (internal/dev/serial), and for tests of programs which they start: cmd/adze and
# internal/dev. The stories of cmd/adze in which the program does several things at once start one with the race detector.
# Packages that take long start first, so that none of them runs alone at the end.
TESTS := go test $(PLAIN) -ldflags=-w -vet=off -timeout 20m
LONGEST := ./internal/engine/proc ./builtin ./serve ./internal/engine/trial ./internal/app/session ./internal/engine/search ./permission ./internal/app/acp
LIST := go run $(PLAIN) ./internal/dev/soak/list
PROGRAMS := ./cmd/adze ./internal/dev/%
LISTED = $(or $(shell $(LIST) $(1)),$(error $(LIST) $(1) failed))
RACED = $(LONGEST) $(filter-out $(LONGEST) $(PROGRAMS),$(call LISTED,-concurrent))
SEQUENTIAL = ./cmd/adze ./internal/dev/... $(filter-out $(PROGRAMS),$(call LISTED,-sequential))
# Tests with and without the detector run side by side: each for itself leaves a core without work at its end, and where
# tests wait. Make 3 can't keep their output apart.
SYNC := $(if $(filter output-sync,$(.FEATURES)),--output-sync=target)
test: ## all tests; needs Go, git and bash
	$(eval dir := $(shell mktemp -d))@set -e; trap '[ $$? = 0 ] || rm -rf "$(dir)"' EXIT; set -x; \
	CGO_ENABLED=0 go build $(PLAIN) -buildvcs=false -ldflags='-s -w' -o "$(dir)/plain/adze" ./cmd/adze; \
	$(if $(RACE),go build $(RACE) $(PLAIN) -buildvcs=false -ldflags=-w -o "$(dir)/raced/adze" ./cmd/adze;) \
	chmod -R go+rX "$(dir)"
	@trap 'rm -rf "$(dir)"' EXIT; $(MAKE) --no-print-directory -j2 $(SYNC) $(if $(RACE),raced) plain BUILT="$(dir)"

raced plain: export ADZE_TEST_PLAIN = $(if $(BUILT),$(BUILT)/plain/adze)
raced:
	$(TESTS) $(RACE) -shuffle=on $(RACED)

plain: export CGO_ENABLED = 0
plain: export ADZE_TEST_RACED = $(if $(RACE),$(if $(BUILT),$(BUILT)/raced/adze))
plain:
	$(TESTS) -shuffle=on $(if $(RACE),$(SEQUENTIAL),./cmd/adze $(LONGEST) ./...)
	$(if $(RACE),$(TESTS) $$($(LIST) -package serial))

# Modules of their own: their packages are not in ./...
MODULES := adapters/anthropic adapters/eino adapters/genai adapters/genkit adapters/openai fleet fleet/deploy examples/otherloop examples/ssh internal/dev/otlptest
test-modules: ## tests of modules of their own, such as those in adapters and fleet
	for dir in $(MODULES); do $(VET) -C $$dir linux/amd64 && (cd $$dir && go mod tidy -diff && $(STATICCHECK) -checks inherit,-ST1005 ./... && go test $(PLAIN) -vet=off -timeout 15m ./...) || exit 1; done

# ST1005: the second line of an error is a sentence for the user.
lint: ## gofmt, vet for Linux (also 32-bit), macOS and Windows, staticcheck
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); echo "run gofmt -w on these"; exit 1; }
	$(VET) linux/amd64 linux/386 darwin/arm64 windows/amd64
	$(STATICCHECK) -checks inherit,-SA1019,-ST1005 ./...

ci: ## what must pass before a change lands; needs npm
	bash .ci/run

# Rewrites the goldens: what the model sees, help texts, generated documents.
golden: ## rewrite golden files and generated documents
	go test ./builtin ./internal/app/cli ./internal/app/tui ./internal/dev/repo -update

# Rows of the benchmarks have columns with two spaces between them.
NUMBERS := docs/numbers.md
bench: build fleet ## sizes and speeds, written to docs/numbers.md
	@set -e; new=$$(mktemp); trap 'rm -f "$$new"' EXIT; { \
		sed '/<!-- bench -->/q' $(NUMBERS); \
		echo "$$(date '+%-d %B %Y'), commit $$(git describe --always --dirty), $$(nproc) cores, load $$(cut -d ' ' -f 1 /proc/loadavg) at the start."; echo; \
		{ go run ./internal/dev/bench; go -C fleet run ./internal/bench ../bin/adze-fleet; } | tee /dev/stderr | awk -F '  +' \
			'!/^(what|fleets)  / && NF > 1 { print "| " $$1 " | " $$2 " | " $$3 " |" } NR == 1 { print "| what | measured | goal |\n|---|---|---|" }'; \
		sed -n '/<!-- \/bench -->/,$$p' $(NUMBERS); \
	} >"$$new"; cat "$$new" >$(NUMBERS)
	go test -run '^$$' -bench . -benchtime 200ms ./...

# Property tests try the same inputs each time, so that a failure comes from the change that is tested; make fuzz tries others,
# and more of them.
export RAPID_SEED ?= 1
export RAPID_CHECKS ?= 40

# New inputs are kept in the build cache, failing ones in testdata/fuzz and testdata/rapid.
FUZZTIME ?= 30s
FUZZ ?= .
fuzz: ## every fuzz target for FUZZTIME, of those that match FUZZ; property tests with 3,000 new inputs
	@git grep -l '^func Fuzz' -- '*_test.go' | while read -r file; do \
		for name in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/p' $$file | grep -E '$(FUZZ)'); do \
			echo "== $$(dirname $$file) $$name"; \
			(cd $$(dirname $$file) && go test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) .) || exit 1; \
		done || exit 1; \
	done
	@git grep -l 'rapid\.Check(' -- '*_test.go' | while read -r file; do \
		for name in $$(awk '/^func Test/ {sub(/\(.*/, "", $$2); name = $$2} /rapid\.Check\(/ {print name}' $$file | grep -E '$(FUZZ)'); do \
			echo "== $$(dirname $$file) $$name"; \
			RAPID_SEED=0 RAPID_CHECKS=3000 go test -vet=off -count=1 -run "^$$name\$$" ./$$(dirname $$file) || exit 1; \
		done || exit 1; \
	done

# Full counts: 2,000 kills, 200 cancels, 10 GB. SOAK=0.1 does a tenth. Only tests that use internal/dev/soak run.
SOAK ?= 1
soak: ## tests with full counts; SOAK=0.1 for a tenth
	ADZE_SOAK=$(SOAK) go test $(PLAIN) -ldflags=-w -vet=off -count=1 -timeout 120m $$(go run $(PLAIN) ./internal/dev/soak/list)
	args=$$(go run $(PLAIN) ./internal/dev/soak/list fleet) && cd fleet && ADZE_SOAK=$(SOAK) go test $(PLAIN) -ldflags=-w -vet=off -count=1 -timeout 90m $$args

# Pictures of the HTML export, light and dark, to look at. Needs chromium.
BROWSER ?= bin/browser
test-browser: ## pictures of the HTML export; needs chromium
	mkdir -p $(BROWSER)
	ADZE_BROWSER=$(abspath $(BROWSER)) go test -count=1 -timeout 10m -run '^TestBrowser$$' -v ./journal/export

# Pictures of the terminal's main moments, to look at. Needs Xvfb, xterm, xdotool, tmux and ImageMagick.
PICTURES ?= bin/pictures
pictures: ## pictures of the terminal; needs Xvfb, xterm, xdotool, tmux, ImageMagick
	mkdir -p $(PICTURES)
	ADZE_PICTURES=$(abspath $(PICTURES)) go test -count=1 -timeout 20m -run '^TestPictures$$' -v ./cmd/adze

# Real MCP servers and clients, model servers and SDKs from npm, at fixed versions, on loopback; and go install, from a proxy in a directory.
NPM_CI := npm ci --no-audit --no-fund --loglevel=error
test-peers: ## tests with programs from npm, and go install; needs npm
	cd internal/dev/peers && $(NPM_CI)
	ADZE_PEERS=1 go test $(PLAIN) -ldflags=-w -vet=off -count=1 -timeout 30m $(SHORT) ./internal/dev/peers/...

# acpx can't be in a lock file: npm leaves out its packages for other systems, and npm ci then refuses the file.
test-acpx: ## a test with the ACP client acpx; needs npm
	cd internal/dev/peers && npm ci --no-audit --no-fund --loglevel=error
	cd internal/dev/peers/acpx && npm install --omit=optional --no-package-lock --no-audit --no-fund --loglevel=error
	ADZE_PEERS=1 go test $(PLAIN) -vet=off -count=1 -timeout 10m -run '^TestAcpx$$' -v ./internal/dev/peers

# The program, and tests of library packages, on platforms that an emulator runs here. CI=true installs the emulators.
PLATFORM = go test $(PLAIN) -ldflags=-w -vet=off -count=1 -timeout 30m -v $(SHORT) ./internal/dev/platforms
EMULATORS := bash internal/dev/platforms/emulators
test-arm64: ## linux/arm64 in qemu; needs qemu-user-static
	$(EMULATORS) arm64
	ADZE_PLATFORM=arm64 $(PLATFORM) -run TestArm64

test-windows: ## windows/amd64 in wine; needs wine64 and mingw's binutils
	$(EMULATORS) windows
	ADZE_PLATFORM=windows $(PLATFORM) -run TestWindows

test-386: ## library packages for linux/386, on this machine
	ADZE_PLATFORM=386 $(PLATFORM) -run TestI386

# The documentation as a site of plain HTML.
SITE ?= bin/site
site: ## the documentation as HTML
	go run ./internal/dev/site -out $(SITE)

# The files of a release in dist/: make release VERSION=v1.2.0
release: ## the files of a release: VERSION=v1.2.0
	go run ./internal/dev/release -version $(VERSION) -out dist -nfpm "$(NFPM)"

# A release for this platform, built twice in two clones, installed and run; then all platforms. Downloads nfpm. An empty NFPM
# leaves packages out, an empty TARGETS the other platforms.
TARGETS ?= all
test-release: ## tests of a release; downloads nfpm
	GOFLAGS="$(GOFLAGS) $(PLAIN)" ADZE_RELEASE=1 ADZE_NFPM="$(NFPM)" ADZE_TARGETS="$(TARGETS)" go test -count=1 -timeout 60m ./internal/dev/release
	ADZE_RELEASE=1 $(TESTS) -count=1 -run '^TestFreshClone$$' ./cmd/adze

# Adze beside other coding agents from npm, at fixed versions, with the same scripted model. Some of their packages for other
# systems can't be had, and npm refuses a lock file without them.
bench-peers: build ## speed and memory beside other agents, written to docs/numbers.md; needs npm
	cd internal/dev/race && npm install --no-package-lock --no-audit --no-fund --loglevel=error
	go run ./internal/dev/race -node internal/dev/race -page $(NUMBERS)

# The same agent with Adze and with other Go libraries: lines, modules and bytes, for docs/embedding.md.
compare-frameworks: ## an agent with other Go libraries; downloads them
	ADZE_FRAMEWORKS=1 go test $(PLAIN) -vet=off -count=1 -timeout 30m -v ./internal/dev/frameworks

# Adze beside ripgrep and fd, interleaved in one run.
bench-search: build ## search beside ripgrep and fd; needs npm
	cd internal/dev/searchbench && npm ci --no-audit --no-fund --loglevel=error
	go run ./internal/dev/searchbench -node internal/dev/searchbench -adze bin/adze
