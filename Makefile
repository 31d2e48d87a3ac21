# The only list of verbs. `make run` and `make test` are all a newcomer needs.

CARGO := $(shell command -v cargo 2>/dev/null || ls $(HOME)/.cargo/bin/cargo 2>/dev/null)

# A faster linker where there is one: a third of the time of the tests' build went to linking.
ifneq ($(shell command -v mold),)
export CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUSTFLAGS ?= -C link-arg=-fuse-ld=mold
endif

.PHONY: run test lint laws fresh check studies bench rust

run: rust ## build, and answer the studies' quick rows by estimate and simulation
	@$(CARGO) run --release --quiet -p lanescope-cli -- study run --quick

# The profile of tests; `make laws` has its own.
test fresh: PROFILE := dev

test: rust ## every test (of the studies' rows those that are quick, of each law's inputs 50; CI has all rows and 200)
	$(CARGO) test --workspace --profile $(PROFILE)

lint: rust ## formatting, lints and documentation, warnings as errors
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --quiet -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --quiet

# Files of tests that hold random inputs to laws: `tests/all/rooms.rs` sees that none is missing here.
LAWS := bus::random_buses:: closed:: cluster::agree:: cluster::laws:: cluster::random_clusters:: cluster::slots:: cluster::ways:: \
	ethernet::agree:: ethernet::random_networks:: extremes:: hosts::page:: hosts::robust:: mixtures:: pictures:: random_scenarios:: shares:: sockets:: storage::laws:: storage::nvme::

# How many inputs of each law, and the seed that they are drawn from.
N ?= 10000
ifndef SEED
SEED := $(shell od -An -N4 -tu4 /dev/urandom | tr -d ' ')
endif
PROFILE ?= laws

laws: rust ## laws on N random inputs each, as fast as they run with every check: make laws N=10000 SEED=7
	@echo "laws on $(N) inputs each: make laws N=$(N) SEED=$(SEED)$(if $(filter dev,$(PROFILE)), PROFILE=dev) repeats this"
	LANESCOPE_CASES=0 LANESCOPE_FRESH=$(N) LANESCOPE_SEED=$(SEED) \
		$(CARGO) test --workspace --profile $(PROFILE) --test all -- $(LAWS)

# What `make test` has built is enough for so few.
fresh: N := 200
fresh: laws ## laws on 200 random inputs that no run has seen; the seed of what fails is printed

check: rust ## what an editor would say, fast
	$(CARGO) check --workspace --all-targets

studies: rust ## every row of every study, and its pictures in target/studies
	@$(CARGO) run --release --quiet -p lanescope-cli -- study run --svg target/studies; test $$? -le 1

bench: rust ## speed
	$(CARGO) bench --workspace

rust:
	@test -n "$(CARGO)" || { echo "lanescope needs Rust: install it from https://rustup.rs or with your system's package manager (rustup, or cargo 1.88 and newer)"; exit 1; }
