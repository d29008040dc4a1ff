import { type Findings, findingLines } from './reading/findings.ts';

/** Prints every fault and sets the exit code; says whether there is any. */
export function refuseFaults({ faults }: Findings): boolean {
  if (faults.length === 0) return false;
  for (const line of findingLines(faults)) console.error(line);
  console.error(`\n${faults.length} ${faults.length === 1 ? 'fault' : 'faults'}. Nothing was changed.`);
  process.exitCode = 1;
  return true;
}

/** What stays behind, for the operator to decide about. */
export function showLeftOut({ leftOut }: Findings) {
  if (leftOut.length === 0) return;
  console.log('\nNot taken over:');
  for (const line of findingLines(leftOut)) console.log(`  ${line}`);
}

const STEP = 100;

/** For people who wait in front of a terminal; a log gets none of it. */
export function showProgress(done: number, total: number) {
  if (!process.stderr.isTTY || total < STEP || (done % STEP !== 0 && done !== total)) return;
  process.stderr.write(`\r${done} of ${total}${done === total ? '\n' : ''}`);
}
