# The only list of verbs. `make run` and `make test` are all a newcomer needs.

CARGO := $(shell command -v cargo 2>/dev/null || ls $(HOME)/.cargo/bin/cargo 2>/dev/null)

# A faster linker where there is one: a third of the time of the tests' build went to linking.
ifneq ($(shell command -v mold),)
export CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUSTFLAGS ?= -C link-arg=-fuse-ld=mold
endif

.PHONY: run test tests python python-venv python-checks python-bench page page-test page-bench lint laws fresh mutants check studies bench bench-causes bench-peers guided rust

# A command that is built already, with the release's examples; CI has built them with its tests.
LANESCOPE ?=

run: rust ## build, and answer the studies' quick rows by estimate and simulation
	@$(or $(LANESCOPE),$(CARGO) run --release --quiet -p lanescope-cli --) study run --quick

# The profile of tests; `make laws` and what is measured have their own. CI names one for all.
test tests fresh python lint: PROFILE ?= dev

test: rust ## every test (of the studies' rows those that are quick, some drives and dumps, of each law's inputs 12; CI has all, and 100 fixed and 100 fresh inputs)
	$(CARGO) test --workspace --profile $(PROFILE)
	@# Named together they are what the tests have built; the module alone is new. The profile is named again: of a
	@# variable of this target, make hands on the default in place of what the environment says.
	@$(MAKE) --no-print-directory python PROFILE=$(PROFILE) PYTHON_BUILDS="--workspace --lib --tests"

tests: rust ## what `make test` runs, built and not run
	$(CARGO) test --workspace --profile $(PROFILE) --no-run
	$(CARGO) build --workspace --lib --tests --profile $(PROFILE)
	@# What imports the package from the source tree finds this build's module.
	ln -sf $(BUILT)/$(MODULE) $(PY)/python/lanescope/_lanescope.abi3.so

# The Python that runs the tests of the package: of `make python-venv` where that was made.
PYTHON ?= $(firstword $(wildcard target/python-venv/bin/python) $(shell command -v python3 2>/dev/null) python3)
PYTHON_AT := $(if $(findstring /,$(PYTHON)),$(abspath $(PYTHON)),$(PYTHON))
PYTHON_BUILDS ?= -p lanescope-py -p lanescope-cli
PY := crates/lanescope-py
BUILT = $(CURDIR)/target/$(if $(filter dev,$(PROFILE)),debug,$(PROFILE))
# What cargo calls a module; Python calls it the same on Linux and macOS.
MODULE := liblanescope_py.$(if $(filter Darwin,$(shell uname -s)),dylib,so)

python: rust ## tests of the Python package, with the module of this build
	@if ! $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then \
		echo "Python tests: not run, there is no Python 3.10 or newer"; \
	elif ! $(PYTHON) -c 'import pytest' 2>/dev/null; then \
		echo "Python tests: not run, $(PYTHON) has no pytest (make python-venv makes one that has all)"; \
	else \
		$(CARGO) build $(PYTHON_BUILDS) --profile $(PROFILE) && \
		ln -sf $(BUILT)/$(MODULE) $(PY)/python/lanescope/_lanescope.abi3.so && \
		cd $(PY) && PYTHONPATH=python LANESCOPE_COMMAND=$(BUILT)/lanescope $(PYTHON_AT) -m pytest -q -rs; \
	fi

python-venv: ## a Python with everything that the tests of the package use, in target/python-venv
	python3 -m venv target/python-venv
	target/python-venv/bin/python -m pip install --quiet --disable-pip-version-check --no-compile -r $(PY)/tests/requirements.txt

python-checks: PROFILE ?= release
python-checks: rust ## stubs, types, API pages, and a wheel that is installed and used (needs make python-venv)
	cd $(PY) && PATH=$(CURDIR)/target/python-venv/bin:$$PATH tests/checks.sh $(PROFILE)

python-bench: rust ## the Python package beside the command: cost of a call, two threads, --vary
	$(CARGO) build --release --quiet -p lanescope-py -p lanescope-cli
	ln -sf $(CURDIR)/target/release/$(MODULE) $(PY)/python/lanescope/_lanescope.abi3.so
	cd $(PY) && PYTHONPATH=python LANESCOPE_COMMAND=$(CURDIR)/target/release/lanescope $(PYTHON_AT) tests/bench.py

WASM := target/wasm32-unknown-unknown/page/lanescope_page.wasm

page: rust web/node_modules ## the page that the command embeds: engine and scripts (needs Node, zopfli and Rust's wasm32-unknown-unknown)
	@# Where the engine is built leaves no trace in it. What is copied into its callers is smaller than by default: what
	@# frees memory was copied ten thousand times or not at all, with any change of the sources.
	RUSTFLAGS="--remap-path-prefix=$(CURDIR)=. --remap-path-prefix=$(HOME)=~ -Cllvm-args=-inline-threshold=100" \
		$(CARGO) build --quiet --profile page --target wasm32-unknown-unknown -p lanescope-page
	node web/build.mjs $(WASM)

web/node_modules: web/package-lock.json
	cd web && npm ci --ignore-scripts --no-audit --no-fund
	@touch web/node_modules

# Screenshots are written to this folder, to be looked at.
SHOTS ?=

page-test: COMMAND = $(or $(LANESCOPE),$(CURDIR)/target/release/lanescope)
page-test: rust web/node_modules ## the page in headless Chromium, and its engine beside the library (needs make page)
ifeq ($(LANESCOPE),)
	$(CARGO) build --release --quiet -p lanescope-page --example rows
	$(CARGO) build --release --quiet -p lanescope-cli
endif
	$(dir $(COMMAND))examples/rows > target/rows.jsonl
	node web/test/rows.mjs crates/lanescope-cli/page/engine.wasm.gz < target/rows.jsonl
	node web/test/browser.mjs $(COMMAND) $(SHOTS)

page-bench: rust web/node_modules ## how quick the page is in headless Chromium, beside an empty page
	$(CARGO) build --release --quiet -p lanescope-cli
	node web/test/speed.mjs $(CURDIR)/target/release/lanescope

lint: rust ## formatting, lints and documentation, warnings as errors
	$(CARGO) fmt --all --check
	@# In the profile of the tests: what runs while it builds (macros, build scripts) is there already.
	$(CARGO) clippy --workspace --all-targets --quiet --profile $(PROFILE) -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --quiet --profile $(PROFILE)
	@# The tool of `make mutants` is a workspace of its own, and small.
	$(CARGO) fmt --manifest-path mutants/Cargo.toml --check
	$(CARGO) clippy --manifest-path mutants/Cargo.toml --all-targets --quiet -- -D warnings
	$(CARGO) test --manifest-path mutants/Cargo.toml --quiet

# Files of tests that hold random inputs to laws: `tests/all/rooms.rs` sees that none is missing here.
LAWS := bus::random_buses:: closed:: collectives:: completions:: cluster::agree:: cluster::flow_level:: cluster::laws:: cluster::ledger:: cluster::random_clusters:: cluster::rows:: cluster::slots:: cluster::ways:: \
	ethernet::agree:: ethernet::classes:: ethernet::flow_level:: ethernet::notes:: ethernet::parallel:: ethernet::ports:: ethernet::queue_pairs:: ethernet::random_networks:: ethernet::several_flows:: ethernet::stations:: extremes:: hosts::logged:: hosts::page:: hosts::robust:: iommu:: limits:: mixtures:: pictures:: random_scenarios:: shares:: sockets:: storage::caches:: storage::controller:: storage::disks:: storage::fabrics:: storage::heads:: storage::in_order:: storage::laws:: storage::neighbours:: storage::nvme:: storage::pages:: storage::places:: storage::raid:: storage::reasons:: storage::ssd:: storage::write_through:: upgrades::

# How many inputs of each law, and the seed that they are drawn from.
N ?= 10000
ifndef SEED
SEED := $(shell od -An -N4 -tu4 /dev/urandom | tr -d ' ')
endif
PROFILE ?= laws

laws: rust ## laws on N random inputs each, as fast as they run with every check: make laws N=10000 SEED=7
	@echo "laws on $(N) inputs each: make laws N=$(N) SEED=$(SEED)$(if $(filter-out laws,$(PROFILE)), PROFILE=$(PROFILE)) repeats this"
	LANESCOPE_CASES=0 LANESCOPE_FRESH=$(N) LANESCOPE_SEED=$(SEED) \
		$(CARGO) test --workspace --profile $(PROFILE) --test all -- $(LAWS)

# What `make test` has built is enough for so few.
fresh: N := 200
fresh: laws ## laws on 200 random inputs that no run has seen; the seed of what fails is printed

# A module of the library (`sim/pcie`), and of its mutants a sample; without a number, all of them.
MODULE ?= sim/pcie
SAMPLE ?= 1000000000

mutants: rust ## which changes of a module's code no test notices: make mutants MODULE=sim/pcie SAMPLE=500 SEED=1
	$(CARGO) run --release --quiet --manifest-path mutants/Cargo.toml -- . $(MODULE) $(SAMPLE) $(SEED)

check: rust ## what an editor would say, fast
	$(CARGO) check --workspace --all-targets

studies: rust ## every row of every study, and its pictures in target/studies
	@$(CARGO) run --release --quiet -p lanescope-cli -- study run --svg target/studies; test $$? -le 1

bench: rust ## speed
	$(CARGO) bench --workspace

bench-causes: rust ## what a packet-hop costs, by cause, in instructions, cache misses and mispredicted branches (needs valgrind)
	@# The release with line tables, in a folder of its own, so that it does not build the release anew.
	CARGO_PROFILE_RELEASE_DEBUG=line-tables-only CARGO_PROFILE_RELEASE_STRIP=none \
		$(CARGO) build --release --quiet --target-dir target/causes -p lanescope-cli
	python3 crates/lanescope/benches/causes.py target/causes/release/lanescope

# What is simulated for the profile: the loads of `bench-causes`, an array, and of every study the quick rows.
HOST_TARGET = $(shell rustc -vV | sed -n 's/host: //p')
GUIDED = $(CURDIR)/target/guided
GUIDED_BUILD = $(CARGO) build --release --quiet --target-dir $(GUIDED) --target $(HOST_TARGET) -p lanescope-cli
TRAINED = LLVM_PROFILE_FILE=$(GUIDED)/raw/%p-%m.profraw $(GUIDED)/$(HOST_TARGET)/release/lanescope

guided: rust ## the command, optimised by the profile of its own runs: target/guided/lanescope (needs rustup's llvm-tools)
	rustup component add llvm-tools
	rm -rf $(GUIDED)/raw
	RUSTFLAGS="-C profile-generate=$(GUIDED)/raw" $(GUIDED_BUILD)
	cd crates/lanescope/benches && for load in "ft8.toml" "ft8.toml --set links.net.fat_tree.k=16 --for 200us" \
		"s16.toml" "devices.toml" "devices.toml --set flows.dma.do=read --set flows.dma.size=512B" \
		"iometer.toml"; do $(TRAINED) simulate $$load >/dev/null || exit; done
	cd crates/lanescope/benches && \
		$(TRAINED) simulate devices.toml --set parts.dev.count=15 --set 'links.up.pcie="gen3 x16"' >/dev/null
	$(TRAINED) study run --quick >/dev/null; test $$? -le 1
	$$(rustc --print sysroot)/lib/rustlib/$(HOST_TARGET)/bin/llvm-profdata merge -o $(GUIDED)/profile $(GUIDED)/raw
	RUSTFLAGS="-C profile-use=$(GUIDED)/profile" $(GUIDED_BUILD)
	cp $(GUIDED)/$(HOST_TARGET)/release/lanescope $(GUIDED)/lanescope

# From where MQSim and htsim are cloned: the peers that Debian does not have.
MQSIM_SOURCE ?= https://github.com/CMU-SAFARI/MQSim
HTSIM_SOURCE ?= https://github.com/Broadcom/csg-htsim

bench-peers: rust ## speed beside ns-3, htsim, SMPI and MQSim, in turn on one core; installs them (Debian) or builds them in target/peers
	apt-get install -qy --no-install-recommends libns3-dev simgrid libsimgrid-dev g++ make pkg-config
	test -d target/peers/MQSim || git clone --quiet $(MQSIM_SOURCE) target/peers/MQSim
	$(MAKE) --silent -C target/peers/MQSim
	test -d target/peers/htsim || git clone --quiet $(HTSIM_SOURCE) target/peers/htsim
	$(MAKE) --silent -C target/peers/htsim/sim libhtsim.a
	HTSIM=$(CURDIR)/target/peers/htsim $(CARGO) bench -p lanescope --bench simulate -- ": "
	$(CARGO) bench -p lanescope --bench smpi
	MQSIM=$(CURDIR)/target/peers/MQSim $(CARGO) bench -p lanescope --bench nvme

rust:
	@test -n "$(CARGO)" || { echo "lanescope needs Rust: install it from https://rustup.rs or with your system's package manager (rustup, or cargo 1.89 and newer)"; exit 1; }
