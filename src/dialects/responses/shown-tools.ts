import { maskedAddress } from '../../core/masked-address.ts';
import type { JsonObject } from '../ir.ts';
import { isObject } from '../json.ts';

/** Members of tools that open other servers to a client, for this one request. */
const SECRETS = new Set(['authorization', 'headers', 'domain_secrets']);
/** They are described by the client, in schemas whose members may have any name. */
const DESCRIBED = new Set(['function', 'custom']);
/** Tools that vendors have invented so far are three deep. */
const DEEPEST = 16;

/**
 * Tools as a response repeats them, and as they are stored, told and logged: without what the client gave for the servers
 * behind them. Like the vendor, the gateway wants it again with the next request.
 */
export const shownTools = (tools: unknown): unknown => shown(tools, 0);

/** An item of an input that brings tools of its own, likewise. */
export const withShownTools = <Item extends JsonObject>(item: Item): Item =>
  Array.isArray(item.tools) ? { ...item, tools: shownTools(item.tools) } : item;

function shown(value: unknown, depth: number): unknown {
  if (depth > DEEPEST) return null;
  if (Array.isArray(value)) return value.map((each) => shown(each, depth + 1));
  if (!isObject(value) || DESCRIBED.has(String(value.type))) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => !SECRETS.has(name))
      .map(([name, each]) => [
        name,
        name === 'server_url' && typeof each === 'string' ? maskedAddress(each) : shown(each, depth + 1),
      ]),
  );
}
