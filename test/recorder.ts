import { serve } from './gateway.ts';

export interface Recorded {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever was sent
  readonly json: any;
}

/** A provider of a test's own: remembers what it was sent, and answers what the test says. */
export function startRecorder() {
  const requests: Recorded[] = [];
  let answer: (request: Recorded) => Response | Promise<Response> = () => Response.json({});
  const { origin, stop } = serve(async (request) => {
    const { pathname, search } = new URL(request.url);
    const text = await request.text();
    const recorded: Recorded = {
      method: request.method,
      path: pathname + search,
      headers: request.headers,
      text,
      json: parsed(text),
    };
    requests.push(recorded);
    return answer(recorded);
  });
  return {
    origin,
    requests,
    stop,
    get last(): Recorded {
      const last = requests.at(-1);
      if (!last) throw new Error('nothing was sent');
      return last;
    },
    answers(next: typeof answer) {
      answer = next;
    },
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
