import type { LogBatch } from '../log-sink.ts';
import { type PackedBody, unpack } from '../packed-bodies.ts';
import { decodeForUsage, isEncoded } from '../usage.ts';
import type { Searched } from './stores.ts';
import { wordsIn } from './words.ts';

/** So much of the request and of the answer is searched, in characters of what they say. */
const MOST_SAID = 64 * 1024;
/** Of the bytes of each. */
const MOST_READ = 1024 * 1024;

/** Members that say nothing: what kind of thing it is, who made it, what it is called by. */
const UNSAID = new Set([
  ...['type', 'role', 'object', 'id', 'model', 'status', 'finish_reason', 'stop_reason', 'finishReason', 'index'],
  ...['system_fingerprint', 'service_tier', 'obfuscation', 'signature', 'thoughtSignature', 'encrypted_content'],
  ...['call_id', 'tool_call_id', 'tool_use_id', 'item_id', 'response_id', 'media_type', 'mimeType', 'format'],
  ...['b64_json', 'data', 'embedding', 'event', 'responseId', 'modelVersion', 'file_id'],
]);
/** Members whose pieces come event by event; put together, words that were cut are whole again. */
const PIECES = new Set([
  ...['content', 'text', 'delta', 'thinking', 'reasoning', 'reasoning_content', 'refusal', 'transcript'],
  ...['arguments', 'partial_json'],
]);

/** No text goes on so long without a space; scripts that have none have other letters. */
const ENCODED = /^[\x21-\x7e]{256}/;

type Member = readonly [name: string, value: string];

/** The strings of JSON with the names of their members, from front to back: also JSON that is cut can be read so. */
function* membersIn(json: string): Iterable<Member> {
  let name = '';
  for (let open = json.indexOf('"'); open >= 0; ) {
    const close = closingQuote(json, open + 1);
    const inside = close < 0 ? json.slice(open + 1).replace(HALF_ESCAPE, '') : json.slice(open + 1, close);
    const next = close < 0 ? -1 : afterSpace(json, close + 1);
    if (next >= 0 && json[next] === ':') name = inside;
    else if (!UNSAID.has(name) && !ENCODED.test(inside)) yield [name, unescaped(inside)];
    open = next < 0 ? -1 : json.indexOf('"', next);
  }
}

const HALF_ESCAPE = /\\(?:u[\da-f]{0,3})?$/i;

function closingQuote(json: string, from: number): number {
  for (let quote = json.indexOf('"', from); quote >= 0; quote = json.indexOf('"', quote + 1)) {
    let slashes = quote;
    while (slashes > from && json[slashes - 1] === '\\') slashes--;
    if ((quote - slashes) % 2 === 0) return quote;
  }
  return -1;
}

function afterSpace(json: string, from: number): number {
  let at = from;
  while (json[at] === ' ' || json[at] === '\n' || json[at] === '\r' || json[at] === '\t') at++;
  return at;
}

function unescaped(inside: string): string {
  if (!inside.includes('\\')) return inside;
  try {
    return JSON.parse(`"${inside}"`) as string;
  } catch {
    return inside;
  }
}

function saidInJson(json: string): string {
  let said = '';
  for (const [, value] of membersIn(json)) {
    said += `${value}\n`;
    if (said.length >= MOST_SAID) break;
  }
  return said;
}

function saidInEvents(text: string): string {
  const pieces = new Map<string, string>();
  let size = 0;
  for (const line of text.split('\n')) {
    const json = line.startsWith('data:') ? line.slice(5) : line;
    if (!json.trimStart().startsWith('{')) continue;
    for (const [name, value] of membersIn(json)) {
      if (!PIECES.has(name)) continue;
      pieces.set(name, (pieces.get(name) ?? '') + value);
      size += value.length;
    }
    if (size >= MOST_SAID) break;
  }
  return [...pieces.values()].join('\n');
}

async function saidIn(headers: Readonly<Record<string, string>>, bytes: Uint8Array): Promise<string> {
  const coding = headers['content-encoding'];
  const decoded = isEncoded(coding) ? await decodeForUsage(coding!, bytes) : bytes;
  if (!decoded) return '';
  const type = headers['content-type'] ?? '';
  const text = new TextDecoder().decode(decoded.subarray(0, MOST_READ));
  if (/event-stream|ndjson|jsonl/.test(type)) return saidInEvents(text).slice(0, MOST_SAID);
  if (/json/.test(type) || (type === '' && /^\s*[[{]/.test(text))) return saidInJson(text).slice(0, MOST_SAID);
  return type.startsWith('text/') ? text.slice(0, MOST_SAID) : '';
}

/** The words of a call whose bodies are to be searched; null: they are not, or there are none. */
async function wordsOf(packed: PackedBody | null): Promise<readonly string[] | null> {
  if (!packed) return null;
  const bodies = unpack(packed.length === 1 ? packed[0]! : Buffer.concat(packed));
  if (!bodies.is_searched) return null;
  const asked = bodies.request_body ? await saidIn(bodies.request_headers, bodies.request_body) : '';
  const answered = bodies.response_body ? await saidIn(bodies.response_headers, bodies.response_body) : '';
  const words = wordsIn(`${asked}\n${answered}`);
  return words.length > 0 ? words : null;
}

/** The words of a batch, by entry. */
export async function searchedIn({ rows, bodies }: LogBatch): Promise<Searched[]> {
  const found: Searched[] = [];
  for (const [index, packed] of bodies.entries()) {
    const words = await wordsOf(packed);
    if (words) found.push({ id: rows[index]!.id, words });
  }
  return found;
}
