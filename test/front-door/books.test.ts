import { test } from 'bun:test';
import { booksAgree } from '../books/agreement.ts';

/** BOOKS_REPORT=1 prints what happened. */
const report = process.env.BOOKS_REPORT ? (line: string) => console.log(`  ${line}`) : undefined;
/** Only ends what hangs. */
const LIMIT_MS = 300_000;

for (const database of ['sqlite', 'postgres'] as const)
  test(
    `provider, ledger, log, figures, metrics and spans agree on every call when the gateway is killed, on ${database}`,
    () => booksAgree({ database, calls: 300, kills: ['standstill', 'flow'], report }),
    LIMIT_MS,
  );
