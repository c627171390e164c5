#!/bin/sh
# Write results of promptfoo as JSON, JSON lines and CSV: promptfoo's program and the folder are the arguments.
set -eu
cd "$2"
cat > promptfooconfig.yaml <<'YAML'
description: capitals
prompts: ['Capital of {{country}}?', 'Name the capital of {{country}}.']
providers: [echo]
tests:
  - vars: {country: Norway}
    assert:
      - {type: contains, value: Norway, metric: names-it}
      - {type: icontains, value: capital}
  - vars: {country: Italy}
    assert:
      - {type: equals, value: 'Capital of Italy?', metric: names-it}
      - {type: javascript, value: 'throw new Error("no")', metric: broken}
YAML
export PROMPTFOO_CONFIG_DIR="$2/home" PROMPTFOO_DISABLE_TELEMETRY=1 PROMPTFOO_DISABLE_UPDATE=1 PROMPTFOO_DISABLE_REMOTE_GENERATION=1
"$1" eval -c promptfooconfig.yaml --no-cache --no-progress-bar --no-table -o results.json results.jsonl results.csv || true
rm -rf home promptfooconfig.yaml
