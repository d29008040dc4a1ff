import { carryOut, look } from '../desired/carry-out.ts';
import type { Desired } from '../desired/desired.ts';
import type { PlanOptions } from '../desired/plan.ts';
import { createFindings, type Findings, type Place } from '../desired/reading/findings.ts';
import { planLines } from '../desired/show.ts';
import type { Settings } from '../settings.ts';
import { openInstallation } from './installation.ts';
import { refuseFaults, showLeftOut, showProgress } from './report.ts';

/**
 * The end of every import, with what the code that read the files has checked: all faults at once and nothing done, or all
 * of it in one transaction.
 */
export async function importAll(
  settings: Settings,
  desired: Desired,
  findings: Findings,
  { from, isDryRun, place }: { from: string; isDryRun: boolean; place: Place },
): Promise<boolean> {
  // Without a database that may not exist yet, as long as the files themselves are wrong.
  if (refuseFaults(findings)) return false;
  const options: PlanOptions = { manager: `import/${from}`, mode: 'once', prune: false, place };
  const installation = await openInstallation(settings, { isDryRun });
  try {
    // What stands in the way here is never skipped: the rest might come to mean something of another's.
    const inTheWay = createFindings();
    const plan = await look(installation, desired, inTheWay, options);
    if (refuseFaults(inTheWay)) return false;
    console.log(planLines({ ...plan, kept: [] }).join('\n'));
    if (!isDryRun && plan.steps.length > 0) {
      await carryOut(installation, { desired, plan, options }, showProgress);
      console.log('Done.');
    }
  } finally {
    await installation.close();
  }
  showLeftOut(findings);
  return true;
}
