import { expect, test } from 'bun:test';
import { BrokenFrame, FrameReader, framePieces, wholeOf } from './frames.ts';

const streamOf = (bytes: Uint8Array, size: number) =>
  new ReadableStream<Uint8Array>({
    start(controller) {
      for (let at = 0; at < bytes.byteLength; at += size) controller.enqueue(bytes.slice(at, at + size));
      controller.close();
    },
  });
const text = (value: string) => new TextEncoder().encode(value);

test('frames come back as they were, however they are cut', async () => {
  const content = (async function* () {
    yield text('in ');
    yield text('pieces');
  })();
  const first = await wholeOf(framePieces({ type: 'a' }, [text('body'), { bytes: 9, content }, new Uint8Array(0)]));
  const second = await wholeOf(framePieces({ type: 'b' }, []));

  for (const size of [1, 3, 1_000]) {
    const reader = new FrameReader(streamOf(Buffer.concat([first, second]), size));
    expect(await reader.header()).toEqual({ type: 'a', sizes: [4, 9, 0] });
    const bodies = [];
    for (const bytes of [4, 9, 0]) bodies.push(Buffer.from(await wholeOf(reader.take(bytes))).toString());
    expect(bodies).toEqual(['body', 'in pieces', '']);
    expect(await reader.header()).toEqual({ type: 'b', sizes: [] });
    await expect(reader.header()).rejects.toThrow(BrokenFrame);
  }
});

test('a header that is too long, no JSON or cut off is broken', async () => {
  for (const bytes of ['\xff\xff\xff\xffx', '\0\0\0\x03{a}', '\0\0\0\x09{"a":1}', '\0\0', 'Hello, gateway'])
    await expect(new FrameReader(streamOf(Buffer.from(bytes, 'latin1'), 2)).header()).rejects.toThrow(BrokenFrame);
});

test('a body that has another size than was announced is not sent to its end', async () => {
  for (const bytes of [3, 9]) {
    const content = new Blob(['five5']).stream() as unknown as AsyncIterable<Uint8Array>;
    await expect(wholeOf(framePieces({}, [{ bytes, content }]))).rejects.toThrow(`the ${bytes} bytes`);
  }
});
