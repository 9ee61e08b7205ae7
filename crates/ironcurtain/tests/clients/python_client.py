"""A host built on the official Python SDK of MCP, as a program that a test can start.

It does what it is told and reports what the SDK made of it; it checks nothing itself, so a test
sees exactly what the people behind a real host would see.

Its only argument is a JSON document:
  {"command": "...", "args": [...], "env": {...}, "era": "auto",
   "steps": [{"list": true} | {"call": "tool", "arguments": {...}} | {"ping": true}
             | {"follow": "tool", "arguments": {...}} | {"abandon": "tool", "arguments": {...}}]}
`follow` reports the progress of a call too; `abandon` takes a call back once it has heard of progress.
`answers` is optional: {"sampling": "text", "form": {...}} is what the model and the person say when a
server asks; what was asked is reported as `asked`.
`era` is optional: "auto", the SDK's default, asks with `server/discover` before it falls back to
`initialize`; "legacy" only knows `initialize`; "modern" insists on 2026-07-28.
"""

import json
import sys

import anyio
import mcp_types as types
from mcp import MCPError, StdioServerParameters
from mcp.client.client import Client
from mcp.client.stdio import stdio_client

REQUEST_SECONDS_MAX = 120
MODES = {"auto": "auto", "legacy": "legacy", "modern": "2026-07-28"}


def as_sent(model):
    """Gives back what the server sent, without the defaults that the SDK would fill in."""
    return model.model_dump(by_alias=True, mode="json", exclude_unset=True)


async def take(step, client):
    if "list" in step:
        names, cursor = [], None
        while True:
            page = await client.list_tools(cursor=cursor)
            names += [tool.name for tool in page.tools]
            cursor = page.next_cursor
            if cursor is None:
                return {"tools": names}
    if "call" in step:
        result = await client.call_tool(step["call"], step.get("arguments"))
        return {"result": as_sent(result)}
    if "follow" in step:
        heard = []

        async def hear(progress, total, _message):
            heard.append([progress, total])

        result = await client.call_tool(step["follow"], step.get("arguments"), progress_callback=hear)
        return {"result": as_sent(result), "progress": heard}
    if "abandon" in step:
        with anyio.CancelScope() as scope:

            async def give_up(_progress, _total, _message):
                scope.cancel()

            await client.call_tool(step["abandon"], step.get("arguments"), progress_callback=give_up)
        return {"abandoned": scope.cancelled_caught}
    if "ping" in step:
        await client.session.send_ping()
        return {"pong": True}
    raise SystemExit(f"there is no such step: {step}")


async def outcome(step, client):
    try:
        return await take(step, client)
    except MCPError as error:
        return {"error": {"code": error.code, "message": error.message}}
    # Without a code: an answer that the SDK does not accept.
    except Exception as error:
        return {"error": {"code": None, "message": f"{type(error).__name__}: {error}"}}


def callbacks(document, asked):
    """Returns what the SDK calls when a server asks for something."""
    answers = document.get("answers")
    if answers is None:
        return {}

    async def sample(_context, params):
        asked.append({"sampling": as_sent(params)})
        content = types.TextContent(type="text", text=answers["sampling"])
        return types.CreateMessageResult(role="assistant", content=content, model="python")

    async def elicit(_context, params):
        asked.append({"form": as_sent(params)})
        return types.ElicitResult(action="accept", content=answers["form"])

    return {"sampling_callback": sample, "elicitation_callback": elicit}


async def run(document):
    asked = []
    server = StdioServerParameters(
        command=document["command"], args=document.get("args", []), env=document.get("env")
    )
    mode = MODES[document.get("era", "auto")]
    async with Client(
        stdio_client(server),
        mode=mode,
        read_timeout_seconds=REQUEST_SECONDS_MAX,
        **callbacks(document, asked),
    ) as client:
        # In the era without a handshake a server need not say who it is.
        info = client.server_info
        return {
            "server": info and {"name": info.name, "version": info.version},
            "protocol": client.protocol_version,
            "steps": [await outcome(step, client) for step in document["steps"]],
            "asked": asked,
        }


if __name__ == "__main__":
    print(json.dumps(anyio.run(run, json.loads(sys.argv[1]))))
