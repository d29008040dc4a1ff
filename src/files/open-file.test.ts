import { afterAll, expect, test } from 'bun:test';
import { mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BlobId } from './blobs.ts';
import { folderBlobs } from './folder-blobs.ts';

const folder = mkdtempSync(join(tmpdir(), 'gateway-open-file-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** How many files below the folder this process has open. */
const open = (): number =>
  readdirSync('/proc/self/fd').filter((name) => {
    try {
      return readlinkSync(`/proc/self/fd/${name}`).startsWith(folder);
    } catch {
      return false;
    }
  }).length;

const blobs = folderBlobs(folder);
const content = () => new Response('some bytes').body!;

test('streams that nobody reads are closed when memory is tidied up, and the process lives', async () => {
  const id = 'blob_forgotten' as BlobId;
  await blobs.put(id, content());
  const forget = async () => {
    for (let count = 0; count < 50; count++) await blobs.get(id);
  };
  await forget();
  expect(open()).toBeGreaterThan(0);
  for (let tries = 0; open() > 5 && tries < 100; tries++) {
    Bun.gc(true);
    await Bun.sleep(20);
  }
  expect(open()).toBeLessThanOrEqual(5);
});

test('a stream that is read to its end, or given up, leaves nothing open', async () => {
  const id = 'blob_read' as BlobId;
  await blobs.put(id, content());
  const before = open();
  expect(await new Response(await blobs.get(id)).text()).toBe('some bytes');
  await (await blobs.get(id, { start: 2, end: 5 }))!.cancel();
  expect(open()).toBeLessThanOrEqual(before);
});
