import { findMembers } from '../core/json-bytes.ts';
import { DEEPEST, READ_LIMITS, type ShapeLimits, shapeFault } from '../core/json-shape.ts';
import { type BatchFault, type Endpoint, withVersion } from './batch.ts';

/** The largest request of a batch: some dozens are in memory at once. */
export const LONGEST_LINE = 16 << 20;

/** A body may be as deep as one that is sent by itself. */
const LINE_LIMITS: ShapeLimits = { ...READ_LIMITS, depth: DEEPEST + 1 };

type Fault = Omit<BatchFault, 'line'>;
export type ReadLine = { readonly customId: string; readonly body: Members } | { readonly fault: Fault };

const fault = (code: string, message: string, param: string | null = null): ReadLine => ({
  fault: { code, message, param },
});
const missing = (param: string) =>
  fault('missing_required_parameter', `Missing required parameter: '${param}'.`, param);
const wrong = (param: string, why: string) => fault('invalid_request', `${param}: ${why}`, param);

type Members = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is Members =>
  value !== null && typeof value === 'object' && !Array.isArray(value);

const decoder = new TextDecoder('utf-8', { fatal: true });

/** What is wrong with a request of a batch, or the id by which its client knows it. */
export function readLine(bytes: Uint8Array | null, endpoint: string): ReadLine {
  if (bytes === null) return fault('invalid_request', `This line is longer than ${LONGEST_LINE} bytes.`);
  const shape = shapeFault(bytes, LINE_LIMITS);
  if (shape) return fault('invalid_json_line', `This line ${shape.why}.`, shape.member);
  const line = parsed(bytes);
  if (line === undefined) return fault('invalid_json_line', 'This line is not parseable as valid JSON.');
  if (!isObject(line)) return fault('invalid_json_line', 'This line is not a JSON object.');
  const absent = ['custom_id', 'method', 'url', 'body'].find((name) => line[name] === undefined || line[name] === null);
  if (absent) return missing(absent);
  const { custom_id: customId, method, url, body } = line;
  if (typeof customId !== 'string' || customId === '') return wrong('custom_id', 'must be a string, and not empty.');
  if (method !== 'POST') return fault('invalid_method', `method: must be 'POST', not ${shown(method)}.`, 'method');
  if (typeof url !== 'string' || withVersion(url) !== endpoint)
    return fault('url_mismatch', `url: is ${shown(url)}, but the endpoint of this batch is '${endpoint}'.`, 'url');
  if (!isObject(body)) return wrong('body', 'must be an object.');
  return faultOfBody(body, endpoint as Endpoint) ?? { customId, body };
}

/** What no provider could make sense of. The rest is for the provider to say. */
function faultOfBody(body: Members, endpoint: Endpoint): ReadLine | null {
  if (body.stream === true) return wrong('body.stream', 'answers in batches are not streamed; leave it out.');
  if (body.model !== undefined && typeof body.model !== 'string') return wrong('body.model', 'must be a string.');
  const talks = endpoint === '/v1/chat/completions' || endpoint === '/v1/messages';
  if (talks && !(Array.isArray(body.messages) && body.messages.length > 0))
    return wrong('body.messages', 'must be an array of messages, and not empty.');
  const isAbsent = (name: string) => body[name] === undefined || body[name] === null;
  if (endpoint === '/v1/embeddings' && isAbsent('input')) return wrong('body.input', 'must say what to embed.');
  if (endpoint === '/v1/moderations' && isAbsent('input')) return wrong('body.input', 'must say what to judge.');
  if (endpoint.startsWith('/v1/images/') && isAbsent('prompt')) return wrong('body.prompt', 'must say what to draw.');
  return null;
}

function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(decoder.decode(bytes));
  } catch {
    return undefined;
  }
}

const shown = (value: unknown): string =>
  typeof value === 'string' ? `'${value.slice(0, 80)}'` : (JSON.stringify(value)?.slice(0, 80) ?? 'absent');

/** The body of a line that was found to be good, byte for byte. Of a name that stands there twice, the last counts. */
export function bodyOf(line: Uint8Array): Uint8Array {
  const member = findMembers(line, 'body').at(-1);
  if (!member) throw new Error('The line of a batch has no body.');
  return line.subarray(member.start, member.end);
}
