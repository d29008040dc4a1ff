"""python server.py <port>: an MCP server with three tools, made with FastMCP."""

import sys

from fastmcp import FastMCP

server = FastMCP('python')


@server.tool
def echo(said: str) -> str:
    return said


@server.tool
def secret() -> str:
    return 'GOT IT'


@server.tool
def limited() -> str:
    return 'once'


server.run(transport='http', host='127.0.0.1', port=int(sys.argv[1]), show_banner=False, log_level='error')
