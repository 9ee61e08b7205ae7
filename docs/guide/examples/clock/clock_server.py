"""A small MCP server with one tool, `now`, to try `ironcurtain servers add` with."""

import datetime
import json
import sys

NOW = {
    "name": "now",
    "description": "Returns the time in a format of strftime.",
    "inputSchema": {
        "type": "object",
        "properties": {"format": {"type": "string"}},
        "additionalProperties": False,
    },
}


def answer(method, params):
    if method == "initialize":
        return {
            "protocolVersion": params.get("protocolVersion", "2025-06-18"),
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "clock", "version": "1.0.0"},
        }
    if method == "tools/list":
        return {"tools": [NOW]}
    if method == "tools/call":
        wanted = params.get("arguments", {}).get("format", "%H:%M")
        text = datetime.datetime.now().strftime(wanted)
        return {"content": [{"type": "text", "text": text}]}
    return {}


for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        result = answer(request["method"], request.get("params", {}))
        reply = {"jsonrpc": "2.0", "id": request["id"], "result": result}
        print(json.dumps(reply), flush=True)
