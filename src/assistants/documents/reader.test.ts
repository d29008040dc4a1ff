import { afterAll, describe, expect, test } from 'bun:test';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { strToU8 } from 'fflate';
import { docx, pdf } from '../../../test/assistants/documents.ts';
import { eventually } from '../../../test/process.ts';
import type { Chunk } from './chunks.ts';
import { DocumentFault } from './document.ts';
import { createDocumentReader, type DocumentReader } from './reader.ts';
import { ReadingFailed } from './reading-process.ts';

const reader = createDocumentReader();
afterAll(() => reader.close());

const DEFAULT = { tenant: 'tenant', chunkTokens: 800, overlapTokens: 400 };

function documentOf(filename: string, bytes: Uint8Array) {
  return {
    ...DEFAULT,
    filename,
    bytes: bytes.length,
    open: async () => new Blob([bytes as Uint8Array<ArrayBuffer>]).stream() as ReadableStream<Uint8Array>,
  };
}

async function read(
  filename: string,
  bytes: Uint8Array,
  { from = reader, signal = new AbortController().signal }: { from?: DocumentReader; signal?: AbortSignal } = {},
): Promise<string[]> {
  const chunks: Chunk[] = [];
  for await (const chunk of from.chunks(documentOf(filename, bytes), signal)) chunks.push(chunk);
  return chunks.map(({ text }) => text);
}

/** A program in place of ours that does what a parser does when it meets a hostile file. */
const hostile = (program: string, limits = {}) =>
  createDocumentReader({ command: [process.execPath, '-e', program], limits });

const thrownBy = (work: Promise<unknown>): Promise<Error> =>
  work.then(
    () => new Error('nothing was thrown'),
    (error: Error) => error,
  );

test('documents become chunks in a process of their own, one after the other', async () => {
  expect(await read('a.txt', strToU8('Grüße 🎉'))).toEqual(['Grüße 🎉']);
  expect(await read('a.pdf', pdf(['A page']))).toEqual(['A page']);
  expect((await read('a.docx', docx(['A paragraph']))).map((text) => text.trim())).toEqual(['A paragraph']);
  const long = Array.from({ length: 20_000 }, (_, index) => `word${index}`).join(' ');
  const chunks = await read('a.txt', strToU8(long));
  expect(chunks.length).toBeGreaterThan(20);
  expect(long.startsWith(chunks[0]!)).toBe(true);
  expect(long.endsWith(chunks.at(-1)!)).toBe(true);
});

test('a fault in one document leaves the process to the next', async () => {
  const fault = await thrownBy(read('a.txt', Uint8Array.from([0xff, 0x00, 0x81, 0x02])));
  expect(fault).toBeInstanceOf(DocumentFault);
  expect((fault as DocumentFault).code).toBe('invalid_file');
  expect(await read('b.txt', strToU8('after'))).toEqual(['after']);
});

test('whoever stops taking chunks stops the reading', async () => {
  const long = strToU8('many words '.repeat(200_000));
  for await (const { text } of reader.chunks(documentOf('a.txt', long), new AbortController().signal)) {
    expect(text).toStartWith('many words');
    break;
  }
  expect(await read('b.txt', strToU8('still here'))).toEqual(['still here']);
});

test('reading that is aborted ends at once', async () => {
  const stopping = new AbortController();
  const reading = thrownBy(read('a.txt', strToU8('x'), { from: hostile('for (;;);'), signal: stopping.signal }));
  setTimeout(() => stopping.abort(new Error('stopped')), 50);
  expect((await reading).message).toBe('stopped');
});

describe('what would harm the gateway ends by itself', () => {
  test('an endless loop', async () => {
    const fault = await thrownBy(read('a.txt', strToU8('x'), { from: hostile('for (;;);', { ms: 300 }) }));
    expect(fault).toBeInstanceOf(DocumentFault);
    expect(fault.message).toBe('Reading the file took more than 0 seconds.');
  });

  test('memory without end', async () => {
    const bomb = 'const all = []; for (;;) { const one = new Uint8Array(64 << 20); one.fill(1); all.push(one); }';
    const fault = await thrownBy(read('a.txt', strToU8('x'), { from: hostile(bomb) }));
    expect(fault).toBeInstanceOf(ReadingFailed);
  });

  test('small objects without end', async () => {
    const bomb = 'const all = []; for (let at = 0; ; at++) all.push({ at, text: String(at) });';
    const from = hostile(bomb, { kibibytes: 1 << 20 });
    expect(await thrownBy(read('a.txt', strToU8('x'), { from }))).toBeInstanceOf(ReadingFailed);
  });

  test('a process that ends', async () => {
    const from = hostile('process.exit(0)');
    expect(await thrownBy(read('a.txt', strToU8('x'), { from }))).toBeInstanceOf(ReadingFailed);
  });

  test('a file that is larger than any', async () => {
    const fault = await thrownBy(read('a.txt', strToU8('x'.repeat(200)), { from: hostile('', { bytes: 100 }) }));
    expect(fault.message).toBe('The file has more than 100 bytes.');
  });
});

test('the process has nothing of the gateway’s environment', async () => {
  const program = `process.stdout.write(JSON.stringify({ chunk: { text: JSON.stringify(process.env), start: 0, end: 0 } }) + '\\n{"end":true}\\n'); setTimeout(() => {}, 1e6);`;
  process.env.SECRET_OF_THE_TEST = 'not for children';
  const from = hostile(program);
  try {
    const [environment] = await read('a.txt', strToU8('x'), { from });
    expect(environment).not.toContain('SECRET_OF_THE_TEST');
    expect(
      Object.keys(JSON.parse(environment!)).filter((name) => !['PWD', 'SHLVL', '_', 'OLDPWD'].includes(name)),
    ).toEqual([]);
  } finally {
    from.close();
    delete process.env.SECRET_OF_THE_TEST;
  }
});

test('a document whose content cannot be had is no fault of the document', async () => {
  const open = async () => {
    throw new Error('the blob is away');
  };
  const document = { ...DEFAULT, filename: 'a.txt', bytes: 1, open };
  const work = (async () => {
    for await (const _ of reader.chunks(document, new AbortController().signal));
  })();
  expect((await thrownBy(work)).message).toBe('the blob is away');
});

/** Processes that this one has started, by what the system says. */
const childrenOf = (pid: number): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        return Number(readFileSync(`/proc/${name}/stat`, 'utf8').split(') ')[1]?.split(' ')[1]) === pid;
      } catch {
        return false;
      }
    })
    .map(Number);

test('when the gateway is killed, what it had reading ends, in the middle of a document or not', async () => {
  const program = `
    const { createDocumentReader } = await import('${new URL('./reader.ts', import.meta.url).pathname}');
    const reader = createDocumentReader();
    const read = (tenant, text) => reader.chunks({
      tenant, filename: 'a.txt', bytes: text.length, chunkTokens: 100, overlapTokens: 0,
      open: async () => new Blob([text]).stream(),
    }, new AbortController().signal);
    await read('two', 'many words '.repeat(100_000)).next();
    // The last: one that has nothing to read is kept for ten seconds, in which a busy machine may not begin another.
    for await (const _ of read('one', 'short')) ;
    process.stdout.write('both');
    await Bun.sleep(60_000);`;
  const gateway = Bun.spawn([process.execPath, '-e', program], { stdout: 'pipe', stderr: 'inherit', env: {} });
  await gateway.stdout.getReader().read();
  const reading = childrenOf(gateway.pid);
  expect(reading.length).toBe(2);
  gateway.kill('SIGKILL');
  await gateway.exited;
  await eventually('they have ended', () => !reading.some((pid) => existsSync(`/proc/${pid}/stat`)));
});
