/** Reads streams: so many, so many at once, to their end or held open. */
import { type HoldingResult, readJob, type StreamsJob, type StreamsResult, tell } from './job.ts';

const { job, inputClosed } = await readJob<StreamsJob>();
const hangUp = new AbortController();
const gap = Buffer.from('\n\n');
let events = 0;
let reads = 0;
let finished = 0;
let failed = 0;
let begun = 0;

function countEvents(bytes: Uint8Array): void {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = buffer.indexOf(gap); at >= 0; at = buffer.indexOf(gap, at + 2)) events++;
}

async function readStream(onFirstBytes: () => void = () => {}): Promise<void> {
  const response = await fetch(job.url, {
    method: 'POST',
    headers: job.headers,
    body: job.body,
    signal: hangUp.signal,
  });
  if (response.status !== 200 || !response.body) throw new Error(`status ${response.status}`);
  const reader = response.body.getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    reads++;
    countEvents(part.value);
    onFirstBytes();
  }
  finished++;
}

async function finishAll(): Promise<void> {
  const beganAt = performance.now();
  const lane = async (): Promise<void> => {
    while (begun < job.streams) {
      begun++;
      await readStream().catch(() => void failed++);
    }
  };
  const lanes: Promise<void>[] = [];
  for (let index = 0; index < job.atOnce; index++) {
    lanes.push(lane());
    // Spread the beginnings, or all streams would have their chunks at the same moment.
    await Bun.sleep(2);
  }
  await Promise.all(lanes);
  tell({ finished, failed, events, reads, ms: performance.now() - beganAt } satisfies StreamsResult);
}

async function holdAll(): Promise<void> {
  let open = 0;
  while (begun < job.streams) {
    const group: Promise<void>[] = [];
    for (let index = 0; index < job.atOnce && begun < job.streams; index++) {
      begun++;
      group.push(
        new Promise((resolve) => {
          const opened = () => {
            open++;
            resolve();
          };
          let isOpen = false;
          const onFirstBytes = () => {
            if (!isOpen) opened();
            isOpen = true;
          };
          readStream(onFirstBytes).catch(() => {
            if (!isOpen) failed++;
            resolve();
          });
        }),
      );
    }
    await Promise.all(group);
  }
  tell({ open, failed } satisfies HoldingResult);
  await inputClosed;
  hangUp.abort();
}

await (job.mode === 'hold' ? holdAll() : finishAll());
process.exit(0);
