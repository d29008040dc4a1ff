"""python client.py <client> <url> <key> <prefix>: does the steps whose names come on its input, and tells how each went."""

import asyncio
import sys
from contextlib import AsyncExitStack

WHICH, URL, KEY, PREFIX = sys.argv[1:5]
HEADERS = {'x-gateway-api-key': KEY}


def text_of(result):
    is_error = getattr(result, 'is_error', None) or getattr(result, 'isError', None)
    text = result.content[0].text if result.content else ''
    if is_error:
        raise RuntimeError(text)
    return text


async def open_mcp1(stack):
    from mcp import ClientSession
    from mcp.client.streamable_http import streamablehttp_client

    read, write, _ = await stack.enter_async_context(streamablehttp_client(URL, headers=HEADERS))
    session = await stack.enter_async_context(ClientSession(read, write))
    await session.initialize()
    return session


async def open_mcp2(stack):
    import httpx2
    from mcp.client.client import Client
    from mcp.client.streamable_http import streamable_http_client

    http = await stack.enter_async_context(httpx2.AsyncClient(headers=HEADERS, timeout=60))
    return await stack.enter_async_context(Client(streamable_http_client(URL, http_client=http)))


async def open_fastmcp(stack):
    from fastmcp import Client
    from fastmcp.client.transports import StreamableHttpTransport

    return await stack.enter_async_context(Client(StreamableHttpTransport(URL, headers=HEADERS)))


OPEN = {'python-1': open_mcp1, 'python-2': open_mcp2, 'fastmcp': open_fastmcp}[WHICH]


class Steps:
    stack = None
    client = None

    async def connect(self):
        self.stack = AsyncExitStack()
        self.client = await OPEN(self.stack)

    async def use(self, name, given):
        return text_of(await self.client.call_tool(PREFIX + name, given))

    async def is_refused(self, name):
        try:
            await self.use(name, {})
            return False
        except Exception:
            return True

    async def echo(self, said='hello'):
        assert await self.use('echo', {'said': said}) == said, 'another echo'

    async def list(self):
        listed = await self.client.list_tools()
        names = [tool.name for tool in getattr(listed, 'tools', listed)]
        assert PREFIX + 'echo' in names, f'echo is not among {names}'
        assert PREFIX + 'secret' not in names, 'a tool that is switched off is listed'

    async def call(self):
        await self.echo()

    async def denied(self):
        assert await self.is_refused('secret'), 'a tool that is switched off was called'
        await self.echo()

    async def limited(self):
        refusals = [await self.is_refused('limited') for _ in range(3)]
        assert refusals[-1], 'a limit did not hold'
        await self.echo()

    async def parallel(self):
        await asyncio.gather(*[self.echo(f'number {number}') for number in range(100)])

    async def again(self):
        try:
            await asyncio.wait_for(self.echo('again'), 20)
        except Exception as error:
            why = f'{type(error).__name__} {error}'
            try:
                await self.stack.aclose()
            except BaseException:
                pass
            await self.connect()
            await self.echo('anew')
            return f'new session: {why}'


async def main():
    steps = Steps()
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        try:
            told = await getattr(steps, line.strip())() or 'ok'
        except BaseException as error:
            told = f'FAILED: {type(error).__name__} {error}'
        print('> ' + ' '.join(told.split())[:300], flush=True)
    import os

    os._exit(0)


asyncio.run(main())
