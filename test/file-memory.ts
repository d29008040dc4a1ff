import { createHash } from 'node:crypto';
import { ADMIN_KEY } from './gateway.ts';
import { type GatewayProcess, megabytes, mostMemoryDuring } from './process.ts';

const PIECE = Buffer.alloc(64 * 1024, 'x');
const TAIL = '\r\n--x\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nuser_data\r\n--x--\r\n';
const HEAD = '--x\r\nContent-Disposition: form-data; name="file"; filename="large.bin"\r\n\r\n';
const authorized = { 'x-gateway-api-key': ADMIN_KEY };

/** A fast network, not a loopback: what the interpreter has not collected yet would otherwise be most of what is seen. */
const BYTES_PER_SECOND = 50_000_000;

async function paced(bytes: number, startedAt: number) {
  const aheadMs = (bytes / BYTES_PER_SECOND) * 1_000 - (performance.now() - startedAt);
  if (aheadMs > 5) await Bun.sleep(aheadMs);
}

async function upload(url: string, size: number): Promise<string> {
  let sent = 0;
  const startedAt = performance.now();
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        await paced(sent, startedAt);
        if (sent === 0) controller.enqueue(Buffer.from(HEAD));
        if (sent >= size) {
          controller.enqueue(Buffer.from(TAIL));
          return controller.close();
        }
        const length = Math.min(PIECE.length, size - sent);
        controller.enqueue(new Uint8Array(PIECE.subarray(0, length)));
        sent += length;
      },
    },
    { highWaterMark: 0 },
  );
  const reply = await fetch(`${url}/v1/files`, {
    method: 'POST',
    headers: { ...authorized, 'content-type': 'multipart/form-data; boundary=x' },
    body,
  });
  const file = (await reply.json()) as { id: string; bytes: number };
  if (file.bytes !== size) throw new Error(`${reply.status} ${JSON.stringify(file)}`);
  return file.id;
}

async function downloaded(url: string, id: string): Promise<string> {
  const hash = createHash('sha256');
  const reply = await fetch(`${url}/v1/files/${id}/content`, { headers: authorized });
  const startedAt = performance.now();
  let received = 0;
  for await (const piece of reply.body as unknown as AsyncIterable<Uint8Array>) {
    hash.update(piece);
    received += piece.byteLength;
    await paced(received, startedAt);
  }
  return hash.digest('hex');
}

function expectedHash(size: number): string {
  const hash = createHash('sha256');
  for (let at = 0; at < size; at += PIECE.length) hash.update(PIECE.subarray(0, Math.min(PIECE.length, size - at)));
  return hash.digest('hex');
}

/** How much the process grows, in megabytes, while a file of this size goes in and comes out again. */
export async function growthWithFile(gateway: GatewayProcess, size: number) {
  await downloaded(gateway.url, await upload(gateway.url, 1_000_000));
  const before = gateway.memory();
  let id = '';
  const uploading = upload(gateway.url, size).then((made) => {
    id = made;
  });
  const whileUploading = megabytes((await mostMemoryDuring(gateway, uploading)) - before);
  const downloading = downloaded(gateway.url, id);
  const whileDownloading = megabytes((await mostMemoryDuring(gateway, downloading)) - before);
  return { whileUploading, whileDownloading, isWhole: (await downloading) === expectedHash(size) };
}
