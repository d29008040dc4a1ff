import { join } from 'node:path';
import { type Contender, type ContenderName, labels, start } from '../contenders.ts';
import type { Lab } from '../lab.ts';
import type { HoldingResult, StreamsJob } from '../load/job.ts';
import { saturate } from '../load/wrk.ts';
import { short } from '../numbers.ts';
import { residentKb } from '../proc.ts';
import { chatRequest, streamRequest } from '../prompt.ts';
import { relay } from './chunks.ts';
import { untilCalm } from './cost.ts';

export interface MemorySample {
  readonly name: ContenderName;
  readonly idleMb: number;
  readonly perStreamKb: number;
  /** After each of three bursts of calls at saturation: a leak would climb. */
  readonly afterLoadMb: readonly number[];
  /** After the last of them. */
  readonly afterMinuteMb: number;
}

export const OPEN_STREAMS = 1_000;
const MINUTE_MS = 60_000;

/** On a process of its own, because one that has already worked has room to spare that would hide what streams take. */
export async function measureMemory(lab: Lab, name: ContenderName): Promise<MemorySample> {
  const contender = await start[name](lab);
  await Bun.sleep(lab.lengths.settleMs);
  const idleMb = residentKb(contender.pid) / 1_024;
  lab.say(`memory, ${labels[name]}: ${short(idleMb)} MB idle`);
  const perStreamKb = await holdStreams(lab, contender);
  const afterLoadMb: number[] = [];
  const body = chatRequest(300);
  for (let burst = 0; burst < 3; burst++) {
    await saturate(lab, contender, body, lab.lengths.saturationMs * lab.lengths.saturationTurns);
    await untilCalm(contender.pid);
    afterLoadMb.push(residentKb(contender.pid) / 1_024);
  }
  lab.say(`memory, ${labels[name]}: ${afterLoadMb.map(short).join(', ')} MB after each of three bursts`);
  await Bun.sleep(MINUTE_MS);
  const afterMinuteMb = residentKb(contender.pid) / 1_024;
  lab.say(`memory, ${labels[name]}: ${short(afterMinuteMb)} MB a minute later`);
  await contender.end();
  return { name, idleMb, perStreamKb, afterLoadMb, afterMinuteMb };
}

async function holdStreams(lab: Lab, contender: Contender): Promise<number> {
  // Code that was never run is not yet in memory; that is not the price of a stream.
  await relay(lab, contender, 50, 20);
  await untilCalm(contender.pid);
  const before = residentKb(contender.pid);
  const job: StreamsJob = {
    url: contender.url,
    headers: contender.headers,
    body: streamRequest(600, 1_000),
    streams: OPEN_STREAMS,
    atOnce: 50,
    mode: 'hold',
  };
  const generator = lab.processes.converse(join(import.meta.dir, '../load/streams.ts'), job, lab.cores.load);
  const { open, failed } = await generator.next<HoldingResult>(60_000);
  await Bun.sleep(lab.lengths.settleMs);
  const perStreamKb = (residentKb(contender.pid) - before) / open;
  await generator.close();
  if (failed > 0) lab.note(`${labels[contender.name]}: ${failed} of ${OPEN_STREAMS} streams could not be opened.`);
  lab.say(`memory, ${labels[contender.name]}: ${short(perStreamKb)} KB for each of ${short(open)} open streams`);
  await untilCalm(contender.pid);
  return perStreamKb;
}
