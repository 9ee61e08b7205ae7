# An MCP server with as many tools as it is told, each as long as those of the public servers.
#
#   many.py DIRECTORY NUMBER

import sys

from scripted import Server

AREAS = ["issues", "pages", "channels", "records", "tickets", "boards", "invoices", "events"]
DEEDS = ["list", "get", "create", "update", "delete", "search", "comment_on", "assign", "export", "archive"]


def one(number):
    area, deed = AREAS[number // 10 % 8], DEEDS[number % 10]
    about = f"{deed.replace('_', ' ').capitalize()} {area} in the workspace that the token belongs to. Returns at most `limit` entries, newest first."
    text = lambda what: {"type": "string", "description": what}
    return {
        "name": f"{deed}_{area}" + (f"_{number // 80}" if number >= 80 else ""),
        "description": about,
        "inputSchema": {
            "type": "object",
            "properties": {
                "id": text(f"Number of one of the {area}, as the list has it."),
                "query": text("Words to look for; quotation marks keep them together."),
                "fields": {"type": "array", "items": {"type": "string"}, "description": "Fields to return; all if there are none."},
                "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 20, "description": "At most this many."},
            },
            "required": ["id"],
        },
    }


class Many(Server):
    def __init__(self, directory, number):
        super().__init__(directory)
        self.tools = [one(at) for at in range(number)]


if __name__ == "__main__":
    Many(sys.argv[1], int(sys.argv[2])).run()
