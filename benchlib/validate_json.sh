#!/bin/sh
# validate_json.sh SCHEMA REPORT...: reports are as their JSON Schema says. Without
# python3-jsonschema nothing is looked at, which is said, and the status is 77.
set -eu

schema=$1
shift
python3 -c 'import jsonschema' 2>/dev/null || {
    echo "skipped: not validated against ${schema##*/}, there is no python3-jsonschema"
    exit 77
}
python3 - "$schema" "$@" <<'EOF'
import json
import sys

import jsonschema

with open(sys.argv[1]) as f:
    schema = json.load(f)
jsonschema.Draft202012Validator.check_schema(schema)
wrong = 0
for name in sys.argv[2:]:
    with open(name) as f:
        report = json.load(f)
    for e in jsonschema.Draft202012Validator(schema).iter_errors(report):
        print(f"{name}: {'/'.join(map(str, e.absolute_path))}: {e.message}")
        wrong = 1
sys.exit(wrong)
EOF
