import { join } from 'node:path';
import type { Contender } from '../contenders.ts';
import { labels } from '../contenders.ts';
import type { Lab } from '../lab.ts';
import type { StreamsJob, StreamsResult, Target } from '../load/job.ts';
import { short } from '../numbers.ts';
import { cpuMsOf } from '../proc.ts';
import { streamRequest } from '../prompt.ts';
import { untilCalm } from './cost.ts';
import { warmUp } from './cpu.ts';

export interface ChunkSample {
  readonly name: Contender['name'];
  readonly microsecondsPerChunk: number;
  /** How many events arrived per read at the client: 1 means that every chunk was passed on by itself. */
  readonly eventsPerRead: number;
}

export const CHUNKS = 200;
export const CHUNK_EVERY_MS = 8;
export const STREAMS_AT_ONCE = 50;

export async function measureChunks(lab: Lab, contenders: readonly Contender[]): Promise<ChunkSample[]> {
  const samples: ChunkSample[] = [];
  await warmUp(lab, contenders);
  for (const contender of contenders) await relay(lab, contender, STREAMS_AT_ONCE, 20);
  for (let round = 0; round < lab.lengths.rounds; round++) {
    for (let turn = 0; turn < contenders.length; turn++) {
      const contender = contenders[(turn + round) % contenders.length]!;
      await untilCalm(contender.pid);
      const before = cpuMsOf(contender.pid);
      const { events, reads, failed, finished } = await relay(lab, contender, lab.lengths.streams, CHUNKS);
      await untilCalm(contender.pid);
      const microsecondsPerChunk = ((cpuMsOf(contender.pid) - before) * 1_000) / events;
      samples.push({ name: contender.name, microsecondsPerChunk, eventsPerRead: events / reads });
      const label = labels[contender.name];
      if (failed > 0) lab.note(`${label}: ${failed} of ${failed + finished} streams failed.`);
      lab.say(
        `chunks round ${round + 1}/${lab.lengths.rounds}, ${label}: ${short(microsecondsPerChunk)} µs per chunk ` +
          `(${short(events)} chunks, ${short(events / reads)} per read)`,
      );
    }
  }
  return samples;
}

export const relay = (lab: Lab, to: Contender, streams: number, chunks: number): Promise<StreamsResult> =>
  readStreams(lab, to, streamRequest(chunks, CHUNK_EVERY_MS), streams);

/** Reads so many streams to their end, at most 50 of them at once. */
export async function readStreams(
  lab: Lab,
  { url, headers }: Target,
  body: string,
  streams: number,
): Promise<StreamsResult> {
  const job: StreamsJob = { url, headers, body, streams, atOnce: Math.min(streams, STREAMS_AT_ONCE), mode: 'finish' };
  const generator = lab.processes.converse(join(import.meta.dir, '../load/streams.ts'), job, lab.cores.load);
  const result = await generator.next<StreamsResult>(120_000);
  await generator.close();
  return result;
}
