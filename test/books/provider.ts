import { createSimulator } from '../../simulator/simulator.ts';
import { serve } from '../gateway.ts';

/** One request as the simulator saw it. */
export interface Arrival {
  /** The model it asked for: the name of the call everywhere. */
  readonly name: string;
  readonly provider: 'openai' | 'anthropic';
  /** What it said the request took, if it could say so: an answer that was cut or left says nothing. */
  told: { readonly input: number; readonly output: number } | null;
}

/** What happens to the requests of one call, one after the other; the last of it to all that follow. */
const STEPS = /\[\[steps: ([^\]]*)\]\]/;

/**
 * The simulator with a book of its own: who came, what was answered, and what it said that took. A prompt lays out what
 * happens to each request of its call: `[[steps: status=503; length=20]]`.
 */
export function startCountingSimulator() {
  const simulator = createSimulator();
  const arrivals: Arrival[] = [];
  const seen = new Map<string, number>();
  const { origin, stop } = serve(async (request) => {
    const text = await request.text();
    const name = /"model":"([^"]+)"/.exec(text)?.[1] ?? '';
    const steps = (STEPS.exec(text)?.[1] ?? '').split(';').map((step) => step.trim());
    const turn = seen.get(name) ?? 0;
    seen.set(name, turn + 1);
    const headers = new Headers(request.headers);
    const step = steps[Math.min(turn, steps.length - 1)];
    if (step) headers.set('x-simulate', step);
    const { url, method, signal } = request;
    const arrival: Arrival = { name, provider: url.endsWith('/messages') ? 'anthropic' : 'openai', told: null };
    arrivals.push(arrival);
    const response = await simulator.simulate(new Request(url, { method, headers, body: text, signal }));
    if (!response.body || response.status >= 400) return response;
    return new Response(response.body.pipeThrough(listening(arrival)), response);
  });
  return { origin, arrivals: arrivals as readonly Arrival[], stop };
}

/** Notes what the last usage in an answer says, once the answer has been taken whole. */
function listening(arrival: Arrival) {
  let said = '';
  return new TransformStream<Uint8Array, Uint8Array>({
    transform: (piece, controller) => {
      said += Buffer.from(piece).toString('latin1');
      controller.enqueue(piece);
    },
    flush: () => {
      arrival.told = {
        input: last(said, 'prompt_tokens|input_tokens'),
        output: last(said, 'completion_tokens|output_tokens'),
      };
    },
  });
}

const last = (text: string, names: string): number =>
  Number([...text.matchAll(new RegExp(`"(?:${names})":(\\d+)`, 'g'))].at(-1)?.[1] ?? 0);

export type CountingSimulator = ReturnType<typeof startCountingSimulator>;
