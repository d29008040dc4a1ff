import { afterEach, expect, spyOn, test } from 'bun:test';
import type { Socket } from 'node:net';
import { eventually } from '../../../test/process.ts';
import { type RawUpstream, responseText, startBlackHole, startRawUpstream } from '../../../test/socket.ts';
import type { EgressPolicy } from '../egress.ts';
import { createUpstream, type Incoming, type Outgoing } from '../upstream.ts';

const unlimited = { connectMs: 0, firstByteMs: 0, idleMs: 0, totalMs: 0 };
const anywhere: EgressPolicy = { admit: (url) => ({ origin: new URL(url).origin }) };
const outgoing = (url: string, more: Partial<Outgoing> = {}): Outgoing => ({
  method: 'POST',
  url,
  headers: new Headers(),
  body: new TextEncoder().encode('{}'),
  timeouts: unlimited,
  ...more,
});

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

async function given(respond: Parameters<typeof startRawUpstream>[0]): Promise<RawUpstream> {
  const server = await startRawUpstream(respond);
  cleanups.push(server.stop);
  return server;
}

const textOf = async (incoming: Promise<Incoming>) => new TextDecoder().decode(await (await incoming).bytes());

test('a connection is used again and again, and others are made only while it is busy', async () => {
  const held: Socket[] = [];
  const server = await given((socket) => {
    if (server.requests.length > 3 && server.requests.length <= 6) held.push(socket);
    else socket.write(responseText('ok'));
  });
  const upstream = createUpstream({ egress: anywhere });
  for (let call = 0; call < 3; call++) expect(await textOf(upstream.send(outgoing(server.url)))).toBe('ok');
  expect(server.connections).toBe(1);

  const together = Promise.all([1, 2, 3].map(() => textOf(upstream.send(outgoing(server.url)))));
  await eventually('three requests are waiting', () => held.length === 3);
  for (const socket of held) socket.write(responseText('late'));

  expect(await together).toEqual(['late', 'late', 'late']);
  expect(server.connections).toBe(3);
  for (let call = 0; call < 3; call++) await textOf(upstream.send(outgoing(server.url)));
  expect(server.connections).toBe(3);
});

for (const [header, value] of [
  ['Connection', 'close'],
  ['Keep-Alive', 'timeout=0'],
] as const) {
  test(`a server that says ${header}: ${value} gets a new connection for the next request`, async () => {
    const server = await given((socket) => socket.write(responseText('ok', { [header]: value })));
    const upstream = createUpstream({ egress: anywhere });

    for (let call = 0; call < 2; call++) await textOf(upstream.send(outgoing(server.url)));

    expect(server.connections).toBe(2);
  });
}

test('a connection is not used for longer than the server says', async () => {
  const server = await given((socket) => socket.write(responseText('ok', { 'Keep-Alive': 'timeout=1' })));
  const upstream = createUpstream({ egress: anywhere });
  await textOf(upstream.send(outgoing(server.url)));
  await textOf(upstream.send(outgoing(server.url)));
  expect(server.connections).toBe(1);

  await Bun.sleep(700);
  await textOf(upstream.send(outgoing(server.url)));

  expect(server.connections).toBe(2);
});

test('bytes after an answer end its connection, and nobody reads them as the next answer', async () => {
  for (const [first, second] of [
    [`${responseText('ok')}${responseText('evil')}`, ''],
    [responseText('ok'), responseText('evil')],
  ] as const) {
    let isClosed = false;
    const server = await given((socket, { number }) => {
      socket.on('close', () => {
        isClosed = true;
      });
      socket.write(number === 1 ? first : responseText('ok'));
      if (number === 1 && second) setTimeout(() => socket.write(second), 20);
    });
    const upstream = createUpstream({ egress: anywhere });

    expect(await textOf(upstream.send(outgoing(server.url)))).toBe('ok');
    await eventually('the connection is given up', () => isClosed);

    expect(await textOf(upstream.send(outgoing(server.url)))).toBe('ok');
    expect(server.connections).toBe(2);
  }
});

test('an answer without a length lasts until the server closes, and a reset is not such an end', async () => {
  const open = 'HTTP/1.1 200 OK\r\n\r\nall there is';
  const closing = await given((socket) => socket.end(open));
  const resetting = await given((socket) => {
    socket.write(open);
    setTimeout(() => socket.resetAndDestroy(), 50);
  });
  const upstream = createUpstream({ egress: anywhere });

  expect(await textOf(upstream.send(outgoing(closing.url)))).toBe('all there is');
  expect(textOf(upstream.send(outgoing(resetting.url)))).rejects.toMatchObject({ phase: 'body', kind: 'broken' });
  await textOf(upstream.send(outgoing(resetting.url))).catch(() => {});
  expect(upstream.open).toBe(0);
});

test('an answer that is not HTTP is broken, says why, and is not asked for twice', async () => {
  const server = await given((socket) =>
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx'),
  );
  const upstream = createUpstream({ egress: anywhere });

  const failure = await upstream.send(outgoing(server.url)).catch((error: unknown) => error);

  expect(failure).toMatchObject({
    phase: 'first byte',
    kind: 'broken',
    sent: 'maybe',
    message: 'its answer is malformed: its content-length "1, 2" is not one number',
  });
  expect(server.requests).toHaveLength(1);
});

test('an idle connection does not keep the process alive', async () => {
  const server = await given((socket) => socket.write(responseText('ok')));
  const script = `
    import { createUpstream } from '../upstream.ts';
    const upstream = createUpstream({ egress: { admit: (url) => ({ origin: new URL(url).origin }) } });
    const incoming = await upstream.send({ method: 'GET', url: '${server.url}/', headers: new Headers(), body: null,
      timeouts: { connectMs: 0, firstByteMs: 0, idleMs: 0, totalMs: 0 } });
    console.log(new TextDecoder().decode(await incoming.bytes()));
  `;
  const child = Bun.spawn([process.execPath, '-e', script], {
    cwd: import.meta.dir,
    stdout: 'pipe',
    stderr: 'inherit',
    timeout: 15_000,
  });

  expect(await child.stdout.text()).toBe('ok\n');
  expect(await child.exited).toBe(0);
});

test('a host that swallows connections does not get one more for every call', async () => {
  const hole = await startBlackHole();
  cleanups.push(hole.stop);
  const dials = spyOn(Bun, 'connect');
  cleanups.push(() => dials.mockRestore());
  const upstream = createUpstream({ egress: anywhere });
  const impatient = outgoing(hole.url, { timeouts: { ...unlimited, connectMs: 100 } });

  for (let round = 0; round < 4; round++) {
    const outcomes = await Promise.allSettled(Array.from({ length: 80 }, () => upstream.send(impatient)));
    expect(outcomes.every(({ status }) => status === 'rejected')).toBe(true);
  }

  expect(dials.mock.calls.length).toBeLessThanOrEqual(80 + 64);
  expect(upstream.open).toBe(0);
});
