#!/usr/bin/env python3
"""Compares what the loader sends to a module with the published MCP schema.

usage: check_messages.py SCHEMA MESSAGES

MESSAGES has a JSON-RPC request a line; the tests leave it in target/tests-bin.
"""
import json
import sys

import jsonschema

DEFINITIONS = {
    "server/discover": "DiscoverRequest",
    "tools/list": "ListToolsRequest",
    "tools/call": "CallToolRequest",
}


def main(schema_path, messages_path):
    with open(schema_path, encoding="utf-8") as file:
        schema = json.load(file)
    validators = {
        method: jsonschema.Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": schema["$defs"]})
        for method, name in DEFINITIONS.items()
    }
    seen = set()
    faults = 0
    with open(messages_path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            message = json.loads(line)
            method = message.get("method")
            seen.add(method)
            if method not in validators:
                print(f"{messages_path}:{number}: `{method}` is no request of ours")
                faults += 1
                continue
            for error in validators[method].iter_errors(message):
                print(f"{messages_path}:{number}: {error.json_path}: {error.message}")
                faults += 1
    for method in sorted(DEFINITIONS.keys() - seen):
        print(f"{messages_path}: no message is a `{method}`")
        faults += 1
    return 1 if faults else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
