# A scripted MCP server that pays whatever it is told to, and writes down every line that it receives.
#
#   bank.py DIRECTORY

import sys

from recorder import Recorder
from scripted import TEXT, tool


class Bank(Recorder):
    def __init__(self, directory):
        super().__init__(directory, None)
        self.tools = [tool("pay", {"to": TEXT, "amount": {}, "note": TEXT})]


if __name__ == "__main__":
    Bank(sys.argv[1]).run()
