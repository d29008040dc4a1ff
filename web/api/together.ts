import { ApiFault } from './fault.ts';

/** Asks the gateway by itself, and answers what it says. */
type Ask = (address: string, signal?: AbortSignal) => Promise<unknown>;

interface Waiting {
  readonly address: string;
  readonly signal: AbortSignal | undefined;
  readonly answered: PromiseWithResolvers<unknown>;
}

const ANALYTICS = '/v1/analytics/';
const TOGETHER = '/v1/analytics/questions';
const ASKABLE = /^\/v1\/analytics\/(graphs\/all|series|facets)\?/;
/** The gateway takes no more at once, and servers in front of it may know a shorter address only. */
const MOST = 16;
const LONGEST = 6_000;

export const isAskedTogether = (address: string): boolean => ASKABLE.test(address) && address.length < LONGEST;

let waiting: Waiting[] = [];

/**
 * Figures that are asked for in one turn, as a page does that opens, go as one request: each request takes a browser about 10 ms of work.
 * A question that the gateway refuses is told apart by asking each of them alone.
 */
export function askTogether(address: string, signal: AbortSignal | undefined, ask: Ask): Promise<unknown> {
  if (waiting.length === 0) queueMicrotask(() => send(ask));
  const answered = Promise.withResolvers<unknown>();
  waiting.push({ address, signal, answered });
  return answered.promise;
}

function send(ask: Ask) {
  const left = waiting;
  waiting = [];
  while (left.length > 0) {
    let count = 1;
    while (count < Math.min(MOST, left.length) && addressOf(left.slice(0, count + 1)).length < LONGEST) count++;
    const asked = left.splice(0, count);
    if (asked.length === 1) alone(asked, ask);
    else void together(asked, ask);
  }
}

function alone(asked: readonly Waiting[], ask: Ask) {
  for (const { address, signal, answered } of asked) ask(address, signal).then(answered.resolve, answered.reject);
}

async function together(asked: readonly Waiting[], ask: Ask) {
  try {
    const { data } = (await ask(addressOf(asked), whenAllLeave(asked))) as { readonly data: readonly unknown[] };
    for (const [at, { answered }] of asked.entries()) answered.resolve(data[at]);
  } catch (error) {
    if (error instanceof ApiFault && error.status === 400) alone(asked, ask);
    else for (const { answered } of asked) answered.reject(error);
  }
}

function addressOf(asked: readonly Waiting[]): string {
  const questions = asked.map(({ address }) => ['question[]', address.slice(ANALYTICS.length)]);
  return `${TOGETHER}?${new URLSearchParams(questions)}`;
}

/** As long as one of them waits, the request goes on. */
function whenAllLeave(asked: readonly Waiting[]): AbortSignal {
  const leave = new AbortController();
  const left = new Set(asked);
  for (const each of asked) {
    const leaves = () => {
      left.delete(each);
      if (left.size === 0) leave.abort();
    };
    if (each.signal?.aborted) leaves();
    else each.signal?.addEventListener('abort', leaves, { once: true });
  }
  return leave.signal;
}
