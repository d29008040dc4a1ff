import { join } from 'node:path';
import type { Contender } from '../contenders.ts';
import { labels } from '../contenders.ts';
import { createVirtualKey } from '../gateway.ts';
import type { Lab } from '../lab.ts';
import type { StreamsJob, StreamsResult, Target } from '../load/job.ts';
import { short } from '../numbers.ts';
import { cpuMsOf } from '../proc.ts';
import { streamRequest } from '../prompt.ts';
import { inTurns, untilCalm } from './cost.ts';
import { warmUp } from './cpu.ts';

/** Long ones show what one more chunk costs: what opens a stream is the same in both. */
export type StreamKind = 'usual' | 'long' | 'translated';

export interface ChunkSample {
  readonly name: Contender['name'];
  readonly kind: StreamKind;
  readonly microsecondsPerChunk: number;
  /** How many events arrived per read at the client: 1 means that every chunk was passed on by itself. */
  readonly eventsPerRead: number;
}

export const CHUNKS = 200;
export const LONG_CHUNKS = 1_000;
export const CHUNK_EVERY_MS = 8;
export const STREAMS_AT_ONCE = 50;

interface Way {
  readonly contender: Contender;
  readonly kind: StreamKind;
  readonly to: Target;
  readonly body: string;
  readonly streams: number;
}

export async function measureChunks(lab: Lab, contenders: readonly Contender[]): Promise<ChunkSample[]> {
  const samples: ChunkSample[] = [];
  await warmUp(lab, contenders);
  const ways = await waysOf(lab, contenders);
  for (const { contender, to, kind } of ways) await readStreams(lab, to, bodyOf(kind, 20), STREAMS_AT_ONCE, contender);
  await inTurns(ways, lab.lengths.rounds, async ({ contender, kind, to, body, streams }, round) => {
    await untilCalm(contender.pid);
    const before = cpuMsOf(contender.pid);
    const { events, reads } = await readStreams(lab, to, body, streams, contender);
    await untilCalm(contender.pid);
    const microsecondsPerChunk = ((cpuMsOf(contender.pid) - before) * 1_000) / events;
    samples.push({ name: contender.name, kind, microsecondsPerChunk, eventsPerRead: events / reads });
    lab.say(
      `chunks round ${round + 1}/${lab.lengths.rounds}, ${labels[contender.name]}, ${kind} streams: ` +
        `${short(microsecondsPerChunk)} µs per chunk (${short(events)} chunks, ${short(events / reads)} per read)`,
    );
  });
  return samples;
}

async function waysOf(lab: Lab, contenders: readonly Contender[]): Promise<Way[]> {
  const ways: Way[] = [];
  const { streams } = lab.lengths;
  for (const contender of contenders) {
    ways.push({ contender, kind: 'usual', to: contender, body: bodyOf('usual', CHUNKS), streams });
    if (contender.name !== 'portkey')
      ways.push({
        contender,
        kind: 'long',
        to: contender,
        body: bodyOf('long', LONG_CHUNKS),
        streams: STREAMS_AT_ONCE,
      });
    if (contender.name !== 'gateway') continue;
    await createVirtualKey(new URL(contender.url).origin, 'bench-claude', `${lab.upstream.url}/v1`, 'anthropic');
    const to = { url: contender.url, headers: { ...contender.headers, 'x-gateway-virtual-key': 'bench-claude' } };
    ways.push({ contender, kind: 'translated', to, body: bodyOf('translated', CHUNKS), streams });
  }
  return ways;
}

/** Anthropic's format has no word for the pace; what is not said is 8 ms. */
const bodyOf = (kind: StreamKind, chunks: number): string =>
  kind === 'translated'
    ? streamRequest(chunks, undefined, { model: 'claude-sonnet-4-5' })
    : streamRequest(chunks, CHUNK_EVERY_MS);

export const relay = (lab: Lab, to: Contender, streams: number, chunks: number): Promise<StreamsResult> =>
  readStreams(lab, to, streamRequest(chunks, CHUNK_EVERY_MS), streams);

/** Reads so many streams to their end, at most 50 of them at once. */
export async function readStreams(
  lab: Lab,
  { url, headers }: Target,
  body: string,
  streams: number,
  through?: Contender,
): Promise<StreamsResult> {
  const job: StreamsJob = { url, headers, body, streams, atOnce: Math.min(streams, STREAMS_AT_ONCE), mode: 'finish' };
  const generator = lab.processes.converse(join(import.meta.dir, '../load/streams.ts'), job, lab.cores.load);
  const result = await generator.next<StreamsResult>(120_000);
  await generator.close();
  const { failed, finished } = result;
  if (through && failed > 0) lab.note(`${labels[through.name]}: ${failed} of ${failed + finished} streams failed.`);
  return result;
}
