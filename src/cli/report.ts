import { type Finding, type Findings, findingLines } from '../desired/reading/findings.ts';

/** Prints every fault and sets the exit code; says whether there is any. */
export function refuseFaults({ faults }: Findings): boolean {
  if (faults.length === 0) return false;
  for (const line of findingLines(faults)) console.error(line);
  console.error(`\n${faults.length} ${faults.length === 1 ? 'fault' : 'faults'}. Nothing was changed.`);
  process.exitCode = 1;
  return true;
}

/** What stays behind or is another than it was, for the operator to decide about. */
export function showLeftOut({ skipped, leftOut, notes }: Findings) {
  const show = (title: string, findings: readonly Finding[]) => {
    if (findings.length === 0) return;
    console.log(`\n${title}:`);
    for (const line of findingLines(findings)) console.log(`  ${line}`);
  };
  show('Skipped because of faults', skipped);
  show('Not taken over', leftOut);
  show('Taken over in another form', notes);
}

const STEP = 100;

/** For people who wait in front of a terminal; a log gets none of it. */
export function showProgress(done: number, total: number) {
  if (!process.stderr.isTTY || total < STEP || (done % STEP !== 0 && done !== total)) return;
  process.stderr.write(`\r${done} of ${total}${done === total ? '\n' : ''}`);
}
