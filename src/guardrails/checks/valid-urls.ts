import * as z from 'zod';
import { GatewayError } from '../../core/errors.ts';
import { check, errored, type Ports } from '../check.ts';
import { timeoutMs } from './parameters/address.ts';
import { not } from './parameters/operator.ts';
import { saidIn } from './text/turns.ts';

const MOST_ADDRESSES = 50;
const LONGEST_ADDRESS = 2_048;

export const validUrls = check({
  id: 'default.validUrls',
  passes:
    'every http(s) address in the texts answers a HEAD request with a status below 400 or with 405; with `onlyDNS`, when every host name resolves; with `not`, unless all do. Texts without an address pass. Addresses that the egress policy refuses, plain http among them, are not valid',
  on: ['input', 'output'],
  span: 'whole',
  tells: ['addresses', 'invalid', 'reasons'],
  parameters: () =>
    z.strictObject({
      onlyDNS: z.boolean({ error: 'give true or false' }).default(false),
      timeout: timeoutMs(3_000),
      not: not(),
    }),
  run: async ({ texts }, { onlyDNS, timeout, not }, ports) => {
    const addresses = [...new Set(saidIn(texts).flatMap(({ text }) => addressesIn(text)))];
    if (addresses.length === 0) return { verdict: true, data: { not, addresses: 0, invalid: 0 } };
    if (addresses.length > MOST_ADDRESSES)
      return errored(`there are ${addresses.length} addresses, more than the ${MOST_ADDRESSES} that are looked at`);
    const look = onlyDNS ? byName : byRequest;
    const faults = await Promise.all(addresses.map((address) => look(address, timeout, ports)));
    const invalid = addresses.flatMap((address, index) => (faults[index] ? [{ address, why: faults[index] }] : []));
    return {
      verdict: (invalid.length === 0) !== not,
      data: {
        not,
        addresses: addresses.length,
        invalid: invalid.length,
        reasons: [...new Set(faults.filter(Boolean))],
      },
      log: { invalid },
    };
  },
});

const ADDRESS = /https?:\/\/[^\s<>"'`{}|\\^\u0000-\u001f]+/gi;
const CLOSING = { ')': '(', ']': '[' } as const;

/** Without the punctuation of the sentence or the brackets of Markdown around them. */
function addressesIn(text: string): string[] {
  return [...text.matchAll(ADDRESS)].map(([found]) => {
    let address = found.slice(0, LONGEST_ADDRESS + 1);
    for (let last = address.at(-1); last; last = address.at(-1)) {
      const opening = CLOSING[last as keyof typeof CLOSING];
      const isLoose = opening !== undefined && countOf(address, last) > countOf(address, opening);
      if (!isLoose && !/[.,;:!?*_~]/.test(last)) break;
      address = address.slice(0, -1);
    }
    return address;
  });
}

const countOf = (text: string, character: string): number => text.split(character).length - 1;

type Look = (address: string, timeout: number, ports: Ports) => Promise<string | null>;

const byRequest: Look = async (address, timeoutMs, { fetch }) => {
  if (!isAddress(address)) return 'is not an address';
  try {
    const { status } = await fetch(address, { method: 'HEAD', timeoutMs });
    return status < 400 || status === 405 ? null : `answered ${status}`;
  } catch (error) {
    return error instanceof GatewayError ? error.code : 'did not answer';
  }
};

const byName: Look = async (address, timeoutMs, { resolves }) => {
  if (!isAddress(address)) return 'is not an address';
  const isKnown = await resolves(new URL(address).hostname, timeoutMs).catch(() => false);
  return isKnown ? null : 'does not resolve';
};

const isAddress = (address: string): boolean => address.length <= LONGEST_ADDRESS && URL.canParse(address);
