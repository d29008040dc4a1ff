import { dirname, resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import type { Settings } from '../settings.ts';
import { readApplyFile } from './applying/file.ts';
import { readArguments } from './arguments.ts';
import { carryOut, look } from './desired/carry-out.ts';
import { checkWishes } from './desired/check.ts';
import type { PlanOptions } from './desired/plan.ts';
import { planLines } from './desired/show.ts';
import { openInstallation } from './installation.ts';
import { createFindings } from './reading/findings.ts';
import { readSource } from './reading/source.ts';
import { refuseFaults, showProgress } from './report.ts';

export const APPLY_USAGE = `gateway apply file.yaml [--dry-run] [--prune] [--yes]

Makes the database as the file says: rules of the organisation, workspaces, virtual keys, configs, API keys, limits and policies.

  --dry-run   show the difference and change nothing
  --prune     delete what an earlier version of the file made and this one no longer names
  --yes       do not ask
`;

const options = {
  'dry-run': { type: 'boolean', default: false },
  prune: { type: 'boolean', default: false },
  yes: { type: 'boolean', default: false },
} as const;

export async function apply(settings: Settings, rest: readonly string[]): Promise<void> {
  const { values, positionals } = readArguments(rest, { options, positionals: 1, usage: APPLY_USAGE });
  const path = resolve(positionals[0]!);
  const findings = createFindings();
  const source = readSource(path, findings);
  const file = source && readApplyFile(source, findings, { environment: settings.environment, folder: dirname(path) });
  if (!source || !file) return void refuseFaults(findings);
  const { desired } = file;
  await checkWishes(desired, settings, findings);
  if (refuseFaults(findings)) return;
  const isDryRun = values['dry-run'];
  const planOptions: PlanOptions = {
    manager: `apply/${file.name}`,
    mode: 'state',
    prune: values.prune,
    place: source.placeOf([]),
  };
  const installation = await openInstallation(settings, { isDryRun });
  try {
    const plan = await look(installation, desired, findings, planOptions);
    if (refuseFaults(findings)) return;
    console.log(planLines(plan).join('\n'));
    if (isDryRun || plan.steps.length === 0) return;
    if (!values.yes && !(await agrees())) return;
    await carryOut(installation, { desired, plan, options: planOptions }, showProgress);
    console.log('Done.');
  } finally {
    await installation.close();
  }
}

/** Without a terminal the operator cannot be asked, and silence is no consent. */
async function agrees(): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stdout.isTTY) {
    process.exitCode = 1;
    console.error('Nothing was changed: without a terminal to ask on, say --yes.');
    return false;
  }
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const answer = await terminal.question('Carry this out? [y/N] ').finally(() => terminal.close());
  if (/^y(es)?$/i.test(answer.trim())) return true;
  console.log('Nothing was changed.');
  return false;
}
