import { test } from 'bun:test';
import { booksAgree } from '../books/agreement.ts';

const report = (line: string) => console.log(`  ${line}`);

for (const database of ['sqlite', 'postgres'] as const)
  test(
    `10,000 mixed calls and three kills: provider, ledger, log, figures, metrics and spans agree, on ${database}`,
    () => booksAgree({ database, calls: 10_000, kills: ['flow', 'standstill', 'flow'], report }),
    600_000,
  );
