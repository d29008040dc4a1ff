import { useQuery } from '@tanstack/react-query';
import { useRef } from 'react';
import { send } from '../../api/client.ts';
import { faultOf } from '../../api/fault.ts';

/** `name{labels} value` of the text format; what is no sample is left out. */
export function samplesIn(text: string): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  for (const line of text.split('\n')) {
    const sample = /^([a-z_:][\w:]*)(?:\{.*\})? (\S+)/i.exec(line);
    const value = Number(sample?.[2]);
    if (sample && Number.isFinite(value)) sums.set(sample[1]!, (sums.get(sample[1]!) ?? 0) + value);
  }
  return sums;
}

async function read({ signal }: { signal: AbortSignal }) {
  const answer = await send('/metrics', { signal });
  if (!answer.ok) throw await faultOf(answer);
  return { at: performance.now(), samples: samplesIn(await answer.text()) };
}

/** The metrics of the node that answers, summed over labels; and how busy its processor was between two looks. */
export function useMetrics(everyMs: number) {
  const { data } = useQuery({ queryKey: ['/metrics'], queryFn: read, refetchInterval: everyMs });
  const before = useRef<typeof data>(undefined);
  const cpu = useRef<number | null>(null);
  if (data && data !== before.current) {
    const name = 'process_cpu_seconds_total';
    const [now, then] = [data.samples.get(name), before.current?.samples.get(name)];
    if (now !== undefined && then !== undefined && before.current)
      cpu.current = Math.max(0, (now - then) / ((data.at - before.current.at) / 1_000));
    before.current = data;
  }
  return { sum: (name: string): number | null => data?.samples.get(name) ?? null, cpu: cpu.current };
}
