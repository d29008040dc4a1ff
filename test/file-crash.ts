import { toFile } from 'openai';
import { ADMIN_KEY } from './gateway.ts';
import { eventually, forTests, type GatewayProcess, startProcess } from './process.ts';
import { openaiClient } from './sdk-clients.ts';

/** The bytes that a file of this name must have, so that a reader can tell whether they are whole. */
function contentFor(name: string): Uint8Array {
  const [seed = 0, size = 0] = name.split('-').map(Number);
  return Uint8Array.from({ length: size }, (_, at) => (at * 31 + (at >> 8) + seed) & 0xff);
}

let files = 0;
const newName = () => `${files++}-${Math.floor(Math.random() * 500_000)}`;

/** Uploads whole files and files in parts, and deletes some, until told to stop; knows what was acknowledged. */
function load({ url }: GatewayProcess) {
  const openai = openaiClient(url, ADMIN_KEY);
  const made = new Set<string>();
  const deleting = new Set<string>();
  const deleted = new Set<string>();
  let isOver = false;
  const uploadWhole = async () => {
    const name = newName();
    made.add((await openai.files.create({ file: await toFile(contentFor(name), name), purpose: 'user_data' })).id);
  };
  const uploadParts = async () => {
    const name = newName();
    const bytes = contentFor(name);
    const half = Math.floor(bytes.length / 2);
    const upload = await openai.uploads.create({
      filename: name,
      purpose: 'user_data',
      bytes: bytes.length,
      mime_type: 'text/plain',
    });
    const parts = await Promise.all(
      [bytes.subarray(0, half), bytes.subarray(half)].map(async (cut) =>
        openai.uploads.parts.create(upload.id, { data: await toFile(cut) }),
      ),
    );
    const completed = await openai.uploads.complete(upload.id, { part_ids: parts.map(({ id }) => id) });
    made.add(completed.file!.id);
  };
  const deleteSome = async () => {
    const id = [...made].find((each) => !deleting.has(each));
    if (made.size - deleting.size < 4 || !id) return Bun.sleep(5);
    deleting.add(id);
    await openai.files.delete(id);
    deleted.add(id);
  };
  const run = async (work: () => Promise<unknown>) => {
    // What is under way when the process dies fails, as it must.
    while (!isOver) await work().catch(() => Bun.sleep(5));
  };
  const running = [uploadWhole, uploadWhole, uploadParts, uploadParts, deleteSome].map(run);
  return {
    made,
    deleting,
    deleted,
    stop: () => {
      isOver = true;
      return Promise.all(running);
    },
  };
}

/**
 * Kills a gateway with SIGKILL while files come and go, again and again, and looks each time whether what was
 * acknowledged is there, whole, and what was deleted is not. Answers the faults and how many files it looked at.
 */
export async function killDuringUploads(rounds: number, dataDir: string, environment: Record<string, string> = {}) {
  const faults: string[] = [];
  let seen = 0;
  const start = () => startProcess({ dataDir, environment: { ...forTests, ...environment } });
  for (let round = 1; round <= rounds; round++) {
    const gateway = await start();
    const loading = load(gateway);
    await eventually('files come and go', () => loading.made.size >= 6 && loading.deleted.size >= 1);
    await Bun.sleep(Math.random() * 30);
    await gateway.kill();
    await loading.stop();

    const again = await start();
    const openai = openaiClient(again.url, ADMIN_KEY);
    const listed = new Set<string>();
    for await (const { id, filename, bytes } of openai.files.list()) {
      listed.add(id);
      const content = await (await openai.files.content(id)).bytes();
      if (Buffer.compare(content, contentFor(filename)) !== 0)
        faults.push(`${id} of ${bytes} bytes is not what was sent`);
    }
    for (const id of loading.made) if (!listed.has(id) && !loading.deleting.has(id)) faults.push(`${id} is lost`);
    for (const id of loading.deleted) if (listed.has(id)) faults.push(`${id} is back`);
    for (const id of listed) await openai.files.delete(id);
    seen += listed.size;
    await again.stop();
  }
  return { faults, seen };
}
