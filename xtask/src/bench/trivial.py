# A trivial MCP server as people write them, for measurements: answers each call with a constant.
import json
import sys

TOOL = {"name": "read", "description": "Answers.", "inputSchema": {
    "type": "object", "properties": {"path": {"type": "string"}, "count": {"type": "integer"}}}}

for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    if asked["method"] == "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                  "serverInfo": {"name": "trivial", "version": "1"}}
    elif asked["method"] == "tools/list":
        result = {"tools": [TOOL]}
    else:
        result = {"content": [{"type": "text", "text": "fine"}]}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
