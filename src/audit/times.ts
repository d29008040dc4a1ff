const MOMENT =
  /^(\d{4})-(\d{2})-(\d{2})(?:T(\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?(Z|[+\- ]\d{2}(?::?\d{2})?)?)?$/i;

/**
 * A moment of ISO 8601 in milliseconds since the epoch, NaN for what is none. Without a zone it is UTC. A plus that was
 * not escaped arrives as a space, and before a zone it can mean nothing else.
 */
export function momentOf(text: string): number {
  const found = MOMENT.exec(text);
  if (!found) return Number.NaN;
  const [, year, month, day, hour = '0', minute = '0', second = '0', fraction = '0', zone = 'Z'] = found;
  const fields = [year, month, day, hour, minute, second].map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const [y, mo, d, h, mi, s] = fields;
  const at = Date.UTC(y, mo - 1, d, h, mi, s);
  const back = new Date(at);
  const isReal =
    back.getUTCMonth() === mo - 1 &&
    back.getUTCDate() === d &&
    h < 24 &&
    mi < 60 &&
    s < 60 &&
    back.getUTCFullYear() === y;
  const offset = offsetOf(zone);
  if (!isReal || Number.isNaN(offset)) return Number.NaN;
  return at + Math.floor(Number(`0.${fraction}`) * 1_000) - offset;
}

function offsetOf(zone: string): number {
  if (/^z$/i.test(zone)) return 0;
  const hours = Number(zone.slice(1, 3));
  const minutes = Number(zone.slice(3).replace(':', '') || 0);
  if (hours > 23 || minutes > 59) return Number.NaN;
  return (zone.startsWith('-') ? -1 : 1) * (hours * 60 + minutes) * 60_000;
}
