import { type McpSample, TOOLS, USERS } from '../measure/mcp.ts';
import { median, short, span } from '../numbers.ts';
import { table } from './table.ts';
import { atMost, type Verdict } from './verdict.ts';

const MOST_ADDED_MS = 1;
const MOST_STALL_MS = 50;
const MOST_COMMON_MS = 0.3;
const MOST_LIST_MS = 20;

const added = (samples: readonly McpSample[]): number[] =>
  samples.map(({ relayedP50, directP50 }) => relayedP50 - directP50);
const beyond = (samples: readonly McpSample[]): number[] =>
  samples.map(({ commonP50, singleP50 }) => commonP50 - singleP50);
const stalls = (samples: readonly McpSample[]): number[] =>
  samples.map(({ burstMost, quietMost }) => Math.max(0, burstMost - quietMost));

export function mcpVerdicts(samples: readonly McpSample[]): Verdict[] {
  if (samples.length === 0) return [];
  return [
    atMost(MOST_ADDED_MS, {
      what: 'a relayed tools/call with a signed identity, added, p50',
      unit: 'ms',
      value: median(added(samples)),
    }),
    atMost(MOST_STALL_MS, {
      what: `other calls held up while ${USERS} new users call at once, at most`,
      unit: 'ms',
      value: median(stalls(samples)),
    }),
    atMost(MOST_COMMON_MS, {
      what: 'a tools/call at the address of all servers, beyond that of one, p50',
      unit: 'ms',
      value: median(beyond(samples)),
    }),
    atMost(MOST_LIST_MS, {
      what: `tools/list of ${TOOLS} tools of all servers, asked for before, p50`,
      unit: 'ms',
      value: median(samples.map(({ listP50 }) => listP50)),
    }),
  ];
}

export function mcpDetails(samples: readonly McpSample[]): string[] {
  if (samples.length === 0) return [];
  const row = (what: string, values: readonly number[]) => [what, short(median(values)), span(values)];
  const of = (member: keyof McpSample) => samples.map((sample) => sample[member]);
  return [
    '### MCP',
    `Embedded store, \`jwt_header\`, RSA 2048. One call at a time; then ${USERS} identities that were never signed for ` +
      'call at once, while a call of another server is made every 5 ms.',
    table(
      ['ms', 'median', 'rounds'],
      [
        row('a tools/call, straight to the server, p50', of('directP50')),
        row('the same through the gateway, identity signed before, p50', of('relayedP50')),
        row('the difference', added(samples)),
        row('another call, in quiet, at most', of('quietMost')),
        row('another call, during the burst, at most', of('burstMost')),
        row('the last answer of the burst', of('burstTook')),
        row('another call, during the same burst when all are known, at most', of('knownMost')),
        row('the last answer of that one', of('knownTook')),
        row('a tools/call of one of 20 servers, at its own address, p50', of('singleP50')),
        row('the same at the address of all, p50', of('commonP50')),
        row('the difference', beyond(samples)),
        row(`tools/list of ${TOOLS} tools at the address of all, asked for before, p50`, of('listP50')),
      ],
    ),
  ];
}
