import { join } from 'node:path';
import { create, createVirtualKey, type GatewayProcess, spawnGateway } from '../gateway.ts';
import type { Lab } from '../lab.ts';
import { short } from '../numbers.ts';
import { cpuMsOf, residentKb } from '../proc.ts';
import { freePort, type Running, untilAnswers } from '../processes.ts';

export interface RealtimeSample {
  /** Microseconds of CPU for each frame of sound that passes. */
  readonly relayedUs: number;
  readonly plainUs: number;
  /** For each conversation that is open and silent. */
  readonly perSocketKb: number;
}

export const OPEN_SOCKETS = 1_000;
const TALKING = 20;
/** 100 ms of sound at 24 kHz and 16 bits, in base64. */
const SOUND = JSON.stringify({ type: 'input_audio_buffer.append', audio: 'UklGR'.repeat(1_280) });
const FRAMES = 20_000;
const AT_A_TIME = 100;

/** What relaying sound costs, beside a relay that knows nothing of what it relays, and what open conversations hold. */
export async function measureRealtime(lab: Lab): Promise<RealtimeSample[]> {
  const upstream = await server(lab, 'upstream/sockets.ts', [], lab.cores.upstream);
  const plain = await server(lab, 'load/plain-relay.ts', [`ws://127.0.0.1:${upstream.port}`], lab.cores.proxy);
  const gateway = await spawnGateway(lab, { core: lab.cores.proxy });
  await createVirtualKey(gateway.origin, 'live', `http://127.0.0.1:${upstream.port}/v1`);
  const { key } = await create(gateway.origin, '/v1/api-keys', { name: 'live', defaults: { virtual_key: 'live' } });
  const relayed = { url: gateway.origin.replace('http', 'ws'), pid: gateway.running.pid, key: String(key) };
  const beside = { url: `ws://127.0.0.1:${plain.port}`, pid: plain.running.pid, key: '' };
  // Both are warm when they are compared.
  for (const through of [beside, relayed]) await talk(through, FRAMES);
  const samples: RealtimeSample[] = [];
  for (let round = 0; round < lab.lengths.rounds; round++) {
    const plainUs = await talk(beside, FRAMES);
    const relayedUs = await talk(relayed, FRAMES);
    const perSocketKb = await hold(lab, relayed);
    samples.push({ plainUs, relayedUs, perSocketKb });
    lab.say(
      `realtime round ${round + 1}/${lab.lengths.rounds}: ${short(relayedUs)} µs a frame, plainly ${short(plainUs)} µs; ` +
        `${short(perSocketKb)} KB for each open conversation`,
    );
  }
  await Promise.all([gateway.running.end(), plain.running.end(), upstream.running.end()]);
  return samples;
}

interface Through {
  readonly url: string;
  readonly pid: GatewayProcess['running']['pid'];
  readonly key: string;
}

async function server(lab: Lab, script: string, more: readonly string[], core?: number) {
  const port = freePort();
  const command = [process.execPath, join(import.meta.dir, '..', script), String(port), ...more];
  const running: Running = lab.processes.start({ name: script.replaceAll('/', '-'), command, core });
  await untilAnswers(`http://127.0.0.1:${port}/ready`, running, 2);
  return { port, running };
}

async function open({ url, key }: Through): Promise<WebSocket> {
  const options = key === '' ? {} : { headers: { authorization: `Bearer ${key}` } };
  // Headers are Bun's own addition to what a browser has.
  const socket = new WebSocket(`${url}/v1/realtime?model=gpt-realtime`, options as never);
  await new Promise<void>((resolve, reject) => {
    socket.onmessage = () => resolve();
    socket.onerror = () => reject(new Error(`${url} opens no conversation`));
  });
  return socket;
}

/** Each conversation says the next frame when the last one was answered. Answers with the CPU of a frame. */
async function talk(through: Through, frames: number): Promise<number> {
  const sockets = await Promise.all(Array.from({ length: TALKING }, () => open(through)));
  const each = Math.ceil(frames / TALKING);
  const began = cpuMsOf(through.pid);
  await Promise.all(
    sockets.map(
      (socket) =>
        new Promise<void>((resolve) => {
          let heard = -1;
          socket.onmessage = () => {
            if (++heard >= each) resolve();
            else socket.send(SOUND);
          };
          socket.send('{"type":"response.create"}');
        }),
    ),
  );
  const took = cpuMsOf(through.pid) - began;
  for (const socket of sockets) socket.close();
  // One each way.
  return (took * 1_000) / (2 * each * TALKING);
}

async function hold(lab: Lab, through: Through): Promise<number> {
  await Bun.sleep(lab.lengths.settleMs);
  const before = residentKb(through.pid);
  const sockets: WebSocket[] = [];
  while (sockets.length < OPEN_SOCKETS)
    sockets.push(...(await Promise.all(Array.from({ length: AT_A_TIME }, () => open(through)))));
  await Bun.sleep(lab.lengths.settleMs);
  const perSocketKb = (residentKb(through.pid) - before) / OPEN_SOCKETS;
  for (const socket of sockets) socket.close();
  return perSocketKb;
}
