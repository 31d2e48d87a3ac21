# The only list of verbs. `make run` and `make test` are all a newcomer needs.

CARGO := $(shell command -v cargo 2>/dev/null || ls $(HOME)/.cargo/bin/cargo 2>/dev/null)

# A faster linker where there is one: a third of the time of the tests' build went to linking.
ifneq ($(shell command -v mold),)
export CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUSTFLAGS ?= -C link-arg=-fuse-ld=mold
endif

.PHONY: run test fresh check studies bench rust

run: rust ## build, and answer the studies' quick rows by estimate and simulation
	@$(CARGO) run --release --quiet -p lanescope-cli -- study run --quick

test: rust ## formatting, lints as errors, and every test
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --quiet -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --quiet
	$(CARGO) test --workspace

fresh: rust ## laws on 200 random inputs that no run has seen; the seed of what fails is printed
	LANESCOPE_CASES=0 LANESCOPE_FRESH=200 $(CARGO) test --workspace --test all -- --skip studies --skip fio --skip iometer --skip pages

check: rust ## what an editor would say, fast
	$(CARGO) check --workspace --all-targets

studies: rust ## every row of every study, and its pictures in target/studies
	@$(CARGO) run --release --quiet -p lanescope-cli -- study run --svg target/studies; test $$? -le 1

bench: rust ## speed
	$(CARGO) bench --workspace

rust:
	@test -n "$(CARGO)" || { echo "lanescope needs Rust: install it from https://rustup.rs or with your system's package manager (rustup, or cargo 1.88 and newer)"; exit 1; }
