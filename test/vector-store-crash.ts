import { toFile } from 'openai';
import { ADMIN_KEY } from './gateway.ts';
import { eventually, forTests, type GatewayProcess, startProcess } from './process.ts';
import { openaiClient } from './sdk-clients.ts';

export interface IngestionCrash {
  readonly files: number;
  readonly kills: number;
  /** One data dir for each process; several need a database. */
  readonly dataDirs: readonly string[];
  readonly environment?: Record<string, string>;
}

/**
 * Kills gateways with SIGKILL while a batch of files is taken in, and starts them again. Answers what is wrong with the
 * store when all is over.
 */
export async function killDuringIngestion({ files, kills, dataDirs, environment = {} }: IngestionCrash) {
  const start = (dataDir: string) => startProcess({ dataDir, environment: { ...forTests, ...environment } });
  const nodes: GatewayProcess[] = [];
  for (const dataDir of dataDirs) nodes.push(await start(dataDir));
  const client = () => openaiClient(nodes.find(({ isAlive }) => isAlive)!.url, ADMIN_KEY);
  try {
    const contents = new Map<string, string>();
    for (let number = 0; number < files; number++) {
      const text = `file ${number} has these words: ${`word${number} `.repeat(1 + ((number * 37) % 400))}`.trim();
      const file = await toFile(new TextEncoder().encode(text), `${number}.txt`);
      contents.set((await client().files.create({ file, purpose: 'assistants' })).id, text);
    }
    const { id: vector_store_id } = await client().vectorStores.create({});
    const batch = await client().vectorStores.fileBatches.create(vector_store_id, { file_ids: [...contents.keys()] });
    const counts = async () => (await client().vectorStores.retrieve(vector_store_id)).file_counts;
    for (let killed = 0; killed < kills; killed++) {
      const goal = ((killed + 0.5) * files) / (kills + 1);
      await eventually('files come in', async () => (await counts()).completed >= goal, 200_000);
      const number = killed % nodes.length;
      await nodes[number]!.kill();
      nodes[number] = await start(dataDirs[number]!);
    }
    await eventually('all files are in', async () => (await counts()).in_progress === 0, 300_000);
    return await faultsOf(client(), { vector_store_id, batchId: batch.id, contents });
  } finally {
    for (const node of nodes) if (node.isAlive) await node.kill();
  }
}

async function faultsOf(
  openai: ReturnType<typeof openaiClient>,
  {
    vector_store_id,
    batchId,
    contents,
  }: { vector_store_id: string; batchId: string; contents: ReadonlyMap<string, string> },
): Promise<string[]> {
  const faults: string[] = [];
  const expected = { in_progress: 0, completed: contents.size, failed: 0, cancelled: 0, total: contents.size };
  const store = await openai.vectorStores.retrieve(vector_store_id);
  const batch = await openai.vectorStores.fileBatches.retrieve(batchId, { vector_store_id });
  for (const [what, counts] of Object.entries({ store: store.file_counts, batch: batch.file_counts }))
    if (JSON.stringify(counts) !== JSON.stringify(expected))
      faults.push(`the ${what} counts ${JSON.stringify(counts)}`);
  if (batch.status !== 'completed') faults.push(`the batch is ${batch.status}`);
  let bytes = 0;
  for await (const file of openai.vectorStores.files.list(vector_store_id, { limit: 100 })) {
    bytes += file.usage_bytes;
    const parts: string[] = [];
    for await (const part of openai.vectorStores.files.content(file.id, { vector_store_id })) parts.push(part.text!);
    const text = contents.get(file.id)!;
    if (!text.startsWith(parts[0] ?? 'nothing') || !text.endsWith(parts.at(-1) ?? 'nothing'))
      faults.push(`${file.id} has another text`);
    if (new Set(parts).size !== parts.length) faults.push(`${file.id} has chunks twice`);
  }
  if (bytes !== store.usage_bytes) faults.push(`the store uses ${store.usage_bytes} bytes, its files ${bytes}`);
  return faults;
}
