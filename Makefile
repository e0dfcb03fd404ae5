# Everything by one command each: `make demo`, `make test`, `make bench`, `make lint`, `make docs`, `make dist`.
# Each sets up .venv by itself; stamp files make the second time quick.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export SENTITOK_DATA ?= ../shared/data
# Incremental files help the next build, not a build from nothing; set this to 1 while you edit Rust.
export CARGO_INCREMENTAL ?= 0
# Tests start hundreds of processes: let them share the bytecode of the package, whatever the shell says.
export PYTHONDONTWRITEBYTECODE :=

RUST := $(shell find rust -name '*.rs') Cargo.toml Cargo.lock
STAMP := $(VENV)/.stamp
HOST = $(shell rustc -vV | sed -n 's/^host: //p')

# By uv; by pip where there is no uv.
INSTALL := $(BIN)/python scripts/install.py
# Cargo's builds for Python need to know which one, and where its library is.
PY_ENV = PYO3_PYTHON=$(CURDIR)/$(BIN)/python \
	LD_LIBRARY_PATH="$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_config_var("LIBDIR") or "")'):$$LD_LIBRARY_PATH"

.PHONY: all demo release test test-rust test-features test-python test-slow fuzz miri asan tsan instructions bench bench-all \
	lint fmt docs dist clean

all: demo

# uv installs in seconds what takes pip minutes. It does not read pip's settings: whoever has an index keeps pip.
$(STAMP)/venv:
	$(PYTHON) -m venv $(VENV)
	mkdir -p $(STAMP)
	if ! $(BIN)/python -m pip config list | grep index; then \
		$(BIN)/python -m pip --disable-pip-version-check --quiet install uv || echo "no uv: pip installs"; \
	fi
	touch $@

$(STAMP)/maturin: $(STAMP)/venv
	$(INSTALL) "maturin>=1.14,<2"
	touch $@

# The extension by the profile `dev` of Cargo.toml, and what the package needs to run.
$(STAMP)/built: $(STAMP)/maturin pyproject.toml $(RUST)
	. $(BIN)/activate && PIP_QUIET=1 PIP_DISABLE_PIP_VERSION_CHECK=1 maturin develop --locked
	touch $@

# In its place the extension as it is released: figures are of this one, and tests that take hours.
$(STAMP)/release: $(STAMP)/built
	. $(BIN)/activate && PIP_QUIET=1 PIP_DISABLE_PIP_VERSION_CHECK=1 maturin develop --release --locked
	touch $@

release: $(STAMP)/release

$(STAMP)/demo: $(STAMP)/venv
	$(INSTALL) tokenizers
	touch $@

# PyTorch alone shares no package with the build, so the two can run side by side. After maturin: uv lets one
# installation at a time into an environment.
$(STAMP)/torch: $(STAMP)/maturin pyproject.toml
	@echo "installing PyTorch for the classifier: up to a minute"
	$(INSTALL) --extras models --only torch
	touch $@

# What `senti` needs.
$(STAMP)/models: $(STAMP)/built $(STAMP)/torch
	$(INSTALL) --extras models
	touch $@

# What tests, linters and benches need beyond that.
$(STAMP)/dev: $(STAMP)/built $(STAMP)/torch pyproject.toml
	$(INSTALL) --extras dev models
	touch $@

# What the site is built with; its reference is read from the package.
$(STAMP)/docs: $(STAMP)/models pyproject.toml
	$(INSTALL) --extras docs
	touch $@

# Rivals of the benches; one that has no wheel here is left out, and said. What another
# version of a tested library is gets an environment of its own.
$(STAMP)/rivals: $(STAMP)/dev
	for name in ffbpe gigatoken rustbpe bpeasy fastokens tokie quicktok-v1 kitoken; do \
		$(INSTALL) $$name || echo "left out: $$name"; \
	done
	for name in tokenizers==1.0.0rc3; do \
		$(PYTHON) -m venv $(VENV)/apart/$$name && \
		$(INSTALL) --into $(VENV)/apart/$$name/bin/python numpy $$name || \
		echo "left out: $$name"; \
	done
	touch $@

# transformers 4, for a test: an environment of its own that sees what .venv has beside it.
$(STAMP)/transformers-4: $(STAMP)/dev
	$(PYTHON) -m venv "$(VENV)/apart/transformers<5"
	$(BIN)/python -c "import site; print(site.getsitepackages()[0])" > \
		"$$("$(VENV)/apart/transformers<5/bin/python" -c 'import site; print(site.getsitepackages()[0])')/beside.pth"
	$(INSTALL) --into "$(VENV)/apart/transformers<5/bin/python" "transformers<5" || \
		{ echo "left out: transformers 4"; rm -r "$(VENV)/apart/transformers<5"; }
	touch $@

# Daft, which needs an older pyarrow, and Spark, whose package has 400 MB.
$(STAMP)/engines: $(STAMP)/dev
	$(PYTHON) -m venv $(VENV)/apart/engines
	$(BIN)/python -c "import site; print(site.getsitepackages()[0])" > \
		"$$($(VENV)/apart/engines/bin/python -c 'import site; print(site.getsitepackages()[0])')/beside.pth"
	$(INSTALL) --into $(VENV)/apart/engines/bin/python "daft>=0.7" "duckdb>=1.4" "pyarrow<26" "pyspark>=4" || \
		{ echo "left out: Daft and Spark"; rm -r $(VENV)/apart/engines; }
	touch $@

# The large download waits for the network while the build computes.
demo:
	@$(MAKE) --no-print-directory -j2 $(STAMP)/built $(STAMP)/torch
	@$(MAKE) --no-print-directory $(STAMP)/demo
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python scripts/demo.py tokenizer
	@$(MAKE) --no-print-directory $(STAMP)/models
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python scripts/demo.py classifier language

# Rust's tests are compiled and run beside the extension's build and the installations, which wait for one thread or
# for the network now and then. Python's tests come after: beside a compiler both take longer than one after the
# other (CONTRIBUTING.md).
test:
	@$(MAKE) --no-print-directory -j3 $(STAMP)/transformers-4 $(STAMP)/engines test-rust
	@$(MAKE) --no-print-directory test-python

# With the default features, so without Python and without what compiles C.
test-rust:
	cargo test --quiet --locked

# The unit tests with all features, which are compiled once more: the glue's and those of reading .zst and .xz, which
# Python's tests run too. They link libpython, which some Pythons come without: there the glue is only checked.
test-features: $(STAMP)/venv
	if $(PY_ENV) cargo test --quiet --locked --features python --lib --no-run; then \
		$(PY_ENV) cargo test --quiet --locked --features python --lib; \
	else \
		echo "no libpython to link: the glue is checked, not tested"; \
		cargo test --quiet --locked --features compression --lib && \
		$(PY_ENV) cargo check --locked --all-targets --features python; \
	fi

# In two calls, so that no process holds the libraries and the tests of all.
test-python: $(STAMP)/dev $(STAMP)/transformers-4 $(STAMP)/engines
	failed=0; for part in tests/sentitok "tests --ignore=tests/sentitok"; do \
		PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pytest $$part -n auto --dist loadfile \
			--no-loadscope-reorder || failed=1; \
	done; exit $$failed

# All tests at length: every code point in every context, whole corpora, all cases of which `make test` has a sample,
# 1,000 examples of each property. Hours.
test-slow: $(STAMP)/dev $(STAMP)/transformers-4 $(STAMP)/engines $(STAMP)/release test-features
	cargo test --locked --release --features compression
	PATH="$(CURDIR)/$(BIN):$$PATH" SENTITOK_THOROUGH=1 $(BIN)/python -m pytest tests -m ""

# Runs each fuzz target for so many minutes and prints how often it ran; what it found interesting stays in
# fuzz/corpus. Needs nightly Rust and a C++ compiler.
MINUTES ?= 2
fuzz:
	$(PYTHON) scripts/fuzz.py --minutes $(MINUTES)

# The vector code in its portable form, with every access to memory checked. Needs nightly Rust with miri and rust-src.
miri:
	cargo +nightly miri test --locked --lib simd::

# Tests with AddressSanitizer: all unit tests, as vector code is called from many modules. Needs nightly Rust.
asan: export RUSTFLAGS = -Zsanitizer=address
asan:
	cargo +nightly test --locked --target $(HOST) --lib
	cargo +nightly test --locked --target $(HOST) --test rust -- bpe:: pre_tokenizer:: unigram:: word_counts:: wordpiece::

# Tests of what runs on several threads, with ThreadSanitizer. Needs nightly Rust with rust-src.
tsan: export RUSTFLAGS = -Zsanitizer=thread
tsan:
	cargo +nightly test --locked -Zbuild-std --target $(HOST) --lib -- parallel cache thread batch jobs pool

# Needs valgrind; `renew` in place of `check` writes the counts anew.
instructions:
	$(PYTHON) benches/instructions.py check

# Prints tables in some minutes and changes no file.
bench: $(STAMP)/dev $(STAMP)/release
	$(BIN)/python benches/quick.py

# Writes docs/lab/benchmarks.md and the figures of the README: hours of a quiet machine.
bench-all: $(STAMP)/rivals $(STAMP)/release
	$(BIN)/python benches/report.py

lint: $(STAMP)/dev
	cargo fmt --check
	cargo clippy --locked --all-targets -- -D warnings
	cargo clippy --locked --all-targets --no-default-features -- -D warnings
	cargo clippy --locked --no-default-features --features corpus -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps --quiet
	$(PY_ENV) cargo clippy --locked --all-targets --features python -- -D warnings
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest sentitok._sentitok

fmt: $(STAMP)/dev
	cargo fmt
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The site, into site/; a link or an anchor that leads nowhere is an error.
docs: $(STAMP)/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

# What checks how an index will show a package.
$(STAMP)/dist: $(STAMP)/maturin
	$(INSTALL) "twine>=6.2"
	touch $@

# sdist, wheel (by the release profile) and crate into dist/, checked and tried; uploads nothing.
dist: $(STAMP)/dist
	$(BIN)/python scripts/dist.py

clean:
	rm -rf $(VENV) target dist site demo-output .benchmarks
