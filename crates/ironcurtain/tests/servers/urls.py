# An MCP server whose resources are whatever a URL leads to, as Python reads URLs.

import json
import sys
import urllib.request


def read(uri):
    with urllib.request.urlopen(uri) as page:
        return page.read(1000).decode()


def answer(method, params):
    if method == "initialize":
        return {"protocolVersion": params["protocolVersion"], "serverInfo": {"name": "urls", "version": "1"},
                "capabilities": {"tools": {}, "resources": {"subscribe": True}, "completions": {}}}
    if method in ("resources/read", "resources/subscribe"):
        return {"contents": [{"uri": params["uri"], "text": read(params["uri"])}]}
    if method == "completion/complete":
        return {"completion": {"values": [read(params["ref"]["uri"])]}}
    return {"tools": [], "resources": [], "resourceTemplates": []}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        reply = {"jsonrpc": "2.0", "id": message["id"]}
        try:
            reply["result"] = answer(message["method"], message.get("params", {}))
        except Exception as error:
            reply["error"] = {"code": -32000, "message": "cannot read it: %s" % type(error).__name__}
        print(json.dumps(reply), flush=True)
