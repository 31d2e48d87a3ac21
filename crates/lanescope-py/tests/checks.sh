#!/usr/bin/env bash
# What tests in the source tree do not see: types, stubs, API pages, and the wheel as a user gets it.
set -euo pipefail
cd "$(dirname "$0")/.."
target=../../target
profile=${1:-release}

echo "types: mypy and pyright"
mypy
pyright

echo "API pages out of the docstrings"
PYTHONPATH=python python -m pdoc -o $target/python-docs lanescope

echo "the wheel, installed where nothing else is"
rm -rf $target/wheels
maturin build --quiet --profile "$profile" --out $target/wheels
wheel=$(ls $target/wheels/lanescope-*abi3*.whl)
size=$(stat -c %s "$wheel")
echo "$(basename "$wheel"): $((size / 1000)) kB"
test "$size" -lt 10000000
python -m venv --clear $target/wheel-venv
$target/wheel-venv/bin/python -m pip install --quiet --disable-pip-version-check --no-index "$wheel"
# From a folder where only the installed package is found.
(cd $target && env -u PYTHONPATH wheel-venv/bin/python -m doctest -o NORMALIZE_WHITESPACE ../crates/lanescope-py/README.md)

echo "the stub is what the module says of itself"
python tools/stubs.py --check "$profile"
