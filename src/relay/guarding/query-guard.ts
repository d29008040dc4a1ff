import type { TextPart } from '../../guardrails/check.ts';
import { isModelName } from '../../guardrails/codes.ts';
import type { Reading } from '../../guardrails/reading.ts';

/** Parameters that a program reads. */
const CODES = new Set([
  'alt',
  'key',
  'api-version',
  'api_version',
  'version',
  'limit',
  'after',
  'before',
  'order',
  'page',
  'pageSize',
  'page_size',
  'pageToken',
  'page_token',
  'model',
  'include',
  'purpose',
  'beta',
]);

/** What a query says is text for the provider, too. It cannot be replaced. */
export function withQuery(reading: Reading, search: string): Reading {
  const said: TextPart[] = [];
  for (const [name, value] of new URLSearchParams(search)) {
    if ((CODES.has(name) && isModelName(value)) || !/\p{L}/u.test(value)) continue;
    said.push({ text: value, role: 'user', kind: 'text', turn: 0, where: `?${name}` });
  }
  if (said.length === 0) return reading;
  return {
    texts: [...said, ...reading.texts],
    get json() {
      return reading.json;
    },
    model: reading.model,
    obstacle: reading.obstacle,
    isEmpty: false,
    bytes: reading.bytes,
    changed: (to) => {
      if (!('json' in to) && to.texts.some(({ part }) => part < said.length)) return null;
      const below = 'json' in to ? to : { texts: to.texts.map((each) => ({ ...each, part: each.part - said.length })) };
      const changed = reading.changed(below);
      return changed && withQuery(changed, search);
    },
  };
}
