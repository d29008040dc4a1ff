const BOOLEANS: Readonly<Record<string, boolean>> = { t: true, true: true, f: false, false: false };
const LISTS = new Set(['models', 'allowed_cache_controls', 'allowed_routes', 'policies', 'access_group_ids']);
const NUMBERS = new Set(['spend', 'max_budget', 'rpm_limit', 'tpm_limit', 'max_parallel_requests', 'rotation_count']);

/** Whether a column says nothing. */
export const isEmpty = (value: unknown): boolean =>
  value === null ||
  value === undefined ||
  value === '' ||
  value === false ||
  (typeof value === 'object' && Object.keys(value).length === 0);

/** A row of a CSV export has texts only; PostgreSQL writes lists as {a,b}, and nothing as nothing. */
export function fromText(value: unknown): unknown {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, memberOf(name, member)]));
}

function memberOf(name: string, member: unknown): unknown {
  if (member === null || typeof member !== 'string') return member;
  if (member === '' || member === '\\N') return null;
  if (LISTS.has(name)) return member.startsWith('[') ? parsed(member) : listOf(member);
  if (NUMBERS.has(name)) return Number.isNaN(Number(member)) ? member : Number(member);
  if (name === 'blocked' || name === 'auto_rotate' || name === 'soft_budget_cooldown')
    return BOOLEANS[member.toLowerCase()] ?? member;
  return member.startsWith('{') ? parsed(member) : member;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** `{gpt-4o,"a, b"}`; what has another form stays a text, and the schema says so. */
function listOf(text: string): unknown {
  const inside = /^\{(.*)\}$/s.exec(text)?.[1];
  if (inside === undefined) return text;
  const items = inside.match(/"(?:[^"\\]|\\.)*"|[^,]+/g) ?? [];
  return items.map((item) => (item.startsWith('"') ? item.slice(1, -1).replace(/\\(.)/g, '$1') : item));
}
