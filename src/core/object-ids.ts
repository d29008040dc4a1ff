/** What the ids of each kind of object begin with. Clients tell kinds apart by it. */
export const PREFIXES = {
  assistant: 'asst_',
  thread: 'thread_',
  message: 'msg_',
  run: 'run_',
  step: 'step_',
  toolCall: 'call_',
  file: 'file-',
  upload: 'upload_',
  part: 'part_',
  vectorStore: 'vs_',
  vectorStoreFileBatch: 'vsfb_',
  vectorStoreSync: 'vssync_',
  batch: 'batch_',
  batchRequest: 'batch_req_',
  event: 'evt_',
  fineTuningJob: 'ftjob-',
  fineTuningEvent: 'ftevent-',
  fineTuningCheckpoint: 'ftckpt_',
  response: 'resp_',
  conversation: 'conv_',
  functionCall: 'fc_',
  functionCallOutput: 'fco_',
  reasoning: 'rs_',
  responseItem: 'item_',
  compaction: 'cmp_',
  /** Of a response whose tools the gateway ran: the gateway keeps it for every provider. */
  hostedResponse: 'resp_gw',
  fileSearchCall: 'fs_',
  codeInterpreterCall: 'ci_',
  imageGenerationCall: 'ig_',
  webSearchCall: 'ws_',
  container: 'cntr_',
  mcpCall: 'mcp_',
  mcpList: 'mcpl_',
  mcpApproval: 'mcpr_',
  /** Of a block of Anthropic's. */
  mcpToolUse: 'mcptoolu_',
} as const;

export type ObjectKind = keyof typeof PREFIXES;
export type ObjectId<Kind extends ObjectKind> = `${(typeof PREFIXES)[Kind]}${string}`;

// In the order of their bytes, so that text compares as numbers do.
const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const TIME_DIGITS = 8;
const COUNT_DIGITS = 3;
const RANDOM_DIGITS = 13;
const MOST_IN_ONE_MS = 62 ** COUNT_DIGITS;

let lastMs = 0;
let count = 0;

/**
 * A prefix and 24 letters and digits: milliseconds, a count within the millisecond, and 77 random bits. Ids that one
 * process makes sort in the order they were made, also when its clock steps back, so a list is paged by id alone.
 */
export function newObjectId<Kind extends ObjectKind>(kind: Kind, at: number = Date.now()): ObjectId<Kind> {
  if (at > lastMs) {
    lastMs = at;
    count = 0;
  } else if (++count === MOST_IN_ONE_MS) {
    lastMs++;
    count = 0;
  }
  return `${PREFIXES[kind]}${inBase62(lastMs, TIME_DIGITS)}${inBase62(count, COUNT_DIGITS)}${randomDigits()}`;
}

/** Clocks of nodes differ by less; what says more is no time. */
const MOST_AHEAD_MS = 3_600_000;

/** From here on, this process makes ids that sort behind that one, though a node made it whose clock is ahead of ours. */
export function sortBehind(id: string, now: number = Date.now()): void {
  const digits = id.slice(-(TIME_DIGITS + COUNT_DIGITS + RANDOM_DIGITS));
  const at = fromBase62(digits.slice(0, TIME_DIGITS));
  const number = fromBase62(digits.slice(TIME_DIGITS, TIME_DIGITS + COUNT_DIGITS));
  if (at === null || number === null || at < lastMs || at > now + MOST_AHEAD_MS) return;
  count = at > lastMs ? number : Math.max(count, number);
  lastMs = at;
}

/** When the object was made, in milliseconds; null: the text is no id of that kind. */
export function madeAt(kind: ObjectKind, id: string): number | null {
  const digits = id.slice(PREFIXES[kind].length);
  const isWhole = id.startsWith(PREFIXES[kind]) && digits.length === TIME_DIGITS + COUNT_DIGITS + RANDOM_DIGITS;
  return isWhole ? fromBase62(digits.slice(0, TIME_DIGITS)) : null;
}

/** The id of an object that was made at another time, elsewhere; `number` orders those of one millisecond. */
export const objectIdAt = <Kind extends ObjectKind>(kind: Kind, at: number, number: number): ObjectId<Kind> =>
  `${PREFIXES[kind]}${inBase62(at, TIME_DIGITS)}${inBase62(number, COUNT_DIGITS)}${randomDigits()}`;

/** Whether the text could be the id of such an object. */
export const isObjectId = <Kind extends ObjectKind>(kind: Kind, text: string): text is ObjectId<Kind> =>
  text.startsWith(PREFIXES[kind]);

function inBase62(value: number, digits: number): string {
  let text = '';
  for (let rest = value; text.length < digits; rest = Math.floor(rest / 62)) text = DIGITS[rest % 62] + text;
  return text;
}

function fromBase62(text: string): number | null {
  let value = 0;
  for (const digit of text) {
    const worth = DIGITS.indexOf(digit);
    if (worth < 0) return null;
    value = value * 62 + worth;
  }
  return value;
}

function randomDigits(): string {
  let text = '';
  while (text.length < RANDOM_DIGITS)
    // Of 64 values, 62 have a digit; the other two are drawn again, so that all digits are equally likely.
    for (const byte of crypto.getRandomValues(new Uint8Array(RANDOM_DIGITS + 3))) text += DIGITS[byte & 63] ?? '';
  return text.slice(0, RANDOM_DIGITS);
}
