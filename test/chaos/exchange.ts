import { openSocket, requestText } from '../socket.ts';

/** What came of one request: a status with the error's code, or nothing, because the connection broke. */
export type Outcome =
  | { readonly outcome: number; readonly why: string | null }
  | { readonly outcome: 'lost'; readonly why: 'refused' | 'broken' };

const LONGEST_MS = 600_000;

/** On a connection of its own: fetch lets the 257th call wait for the others, and then the load is no open loop. */
export async function postJson(url: string, headers: Record<string, string>, body: unknown): Promise<Outcome> {
  const exchange = openSocket(url);
  let isConnected = false;
  exchange.socket.once('connect', () => {
    isConnected = true;
  });
  const { pathname } = new URL(url);
  const sent = { ...headers, 'content-type': 'application/json', connection: 'close' };
  exchange.socket.write(requestText('POST', pathname, sent, JSON.stringify(body)));
  try {
    const text = await exchange.until(isWhole, LONGEST_MS);
    const [, status] = /^HTTP\/1\.1 (\d{3})/.exec(text)!;
    return { outcome: Number(status), why: /"code":"(\w+)"/.exec(text)?.[1] ?? null };
  } catch {
    return { outcome: 'lost', why: isConnected ? 'broken' : 'refused' };
  } finally {
    exchange.socket.destroy();
  }
}

function isWhole(text: string): boolean {
  const headEnd = text.indexOf('\r\n\r\n');
  if (headEnd < 0) return false;
  const length = /\r\ncontent-length: (\d+)/i.exec(text.slice(0, headEnd))?.[1];
  return length === undefined ? text.endsWith('\r\n0\r\n\r\n') : text.length >= headEnd + 4 + Number(length);
}
