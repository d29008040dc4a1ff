import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import type { Secret } from '../../core/secret.ts';

/** AES-256-GCM in pieces: no file has to fit into memory, and none can be cut, joined or put in the place of another. */
const MARK = Buffer.from('GWSEAL01');
const SALT_BYTES = 16;
const HEAD_BYTES = MARK.length + SALT_BYTES;
const PIECE_BYTES = 64 << 10;
const TAG_BYTES = 16;
const KEY_BYTES = 32;

/** The file was changed, or sealed with another key: which of the two cannot be told. */
export class NotOpened extends Error {}

/** Of a key that the settings have checked. */
export const sealingKeyOf = (secret: Secret): Uint8Array => Buffer.from(secret.reveal(), 'base64');

/** 32 bytes in base64, as `openssl rand -base64 32` writes them. */
export function readSealingKey(file: string): Uint8Array {
  let text: string;
  try {
    text = readFileSync(file, 'utf8').trim();
  } catch (error) {
    throw new Error(`--key-file ${file} cannot be read (${(error as Error).message}).`);
  }
  const key = Buffer.from(text, 'base64');
  if (key.length !== KEY_BYTES || key.toString('base64') !== text)
    throw new Error(`--key-file ${file} must hold ${KEY_BYTES} bytes in base64; make one: openssl rand -base64 32`);
  return key;
}

/** Writes a file sealed. The name belongs to it: under another one it cannot be opened. */
export async function sealFile(from: string, to: string, key: Uint8Array, name: string): Promise<void> {
  const salt = randomBytes(SALT_BYTES);
  const ownKey = keyOf(key, salt);
  await withFiles(from, to, async (source, target) => {
    await target.write(Buffer.concat([MARK, salt]));
    await inPieces(source, PIECE_BYTES, async (piece, number, isLast) => {
      const cipher = createCipheriv('aes-256-gcm', ownKey, nonceOf(number, isLast));
      cipher.setAAD(Buffer.from(name));
      await target.write(Buffer.concat([cipher.update(piece), cipher.final(), cipher.getAuthTag()]));
    });
    await target.sync();
  });
}

/** Writes a sealed file as it was. Throws `NotOpened`. */
export async function openSealed(from: string, to: string, key: Uint8Array, name: string): Promise<void> {
  await withFiles(from, to, async (source, target) => {
    const head = Buffer.alloc(HEAD_BYTES);
    const { bytesRead } = await source.read(head, 0, HEAD_BYTES);
    if (bytesRead < HEAD_BYTES || !head.subarray(0, MARK.length).equals(MARK)) throw new NotOpened();
    const ownKey = keyOf(key, head.subarray(MARK.length));
    await inPieces(source, PIECE_BYTES + TAG_BYTES, async (piece, number, isLast) => {
      const size = piece.length - TAG_BYTES;
      if (size < 0) throw new NotOpened();
      const decipher = createDecipheriv('aes-256-gcm', ownKey, nonceOf(number, isLast));
      decipher.setAAD(Buffer.from(name));
      decipher.setAuthTag(piece.subarray(size));
      let opened: Buffer;
      try {
        opened = Buffer.concat([decipher.update(piece.subarray(0, size)), decipher.final()]);
      } catch {
        throw new NotOpened();
      }
      await target.write(opened);
    });
    await target.sync();
  });
}

const keyOf = (key: Uint8Array, salt: Uint8Array): Uint8Array =>
  new Uint8Array(hkdfSync('sha256', key, salt, 'gateway backup', KEY_BYTES));

/** Every piece has a key of its file and a number of its own; the last one says so, or a file that was cut would open. */
function nonceOf(number: number, isLast: boolean): Buffer {
  const nonce = Buffer.alloc(12);
  nonce.writeBigUInt64BE(BigInt(number), 0);
  nonce[11] = isLast ? 1 : 0;
  return nonce;
}

async function withFiles(from: string, to: string, work: (source: FileHandle, target: FileHandle) => Promise<void>) {
  const source = await open(from, 'r');
  try {
    const target = await open(to, 'wx', 0o600);
    try {
      await work(source, target);
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}

/** From where the file stands to its end; an empty rest is one empty piece. */
async function inPieces(
  file: FileHandle,
  size: number,
  use: (piece: Buffer, number: number, isLast: boolean) => Promise<void>,
) {
  let piece = await filled(file, size);
  for (let number = 0; ; number++) {
    const next = piece.length < size ? null : await filled(file, size);
    const isLast = next === null || next.length === 0;
    await use(piece, number, isLast);
    if (isLast) return;
    piece = next;
  }
}

async function filled(file: FileHandle, size: number): Promise<Buffer> {
  const piece = Buffer.alloc(size);
  let at = 0;
  while (at < size) {
    const { bytesRead } = await file.read(piece, at, size - at);
    if (bytesRead === 0) break;
    at += bytesRead;
  }
  return piece.subarray(0, at);
}
