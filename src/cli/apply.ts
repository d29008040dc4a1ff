import { dirname, resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import type { ShownPlan } from '../desired/apply.ts';
import { type ApplyFile, readApplyFile } from '../desired/applying/file.ts';
import { carryOut, look } from '../desired/carry-out.ts';
import { checkWishes } from '../desired/check.ts';
import type { Difference, Plan, PlanOptions } from '../desired/plan.ts';
import { createFindings, type Findings } from '../desired/reading/findings.ts';
import { remembering, secretsHere, withSecrets } from '../desired/reading/secrets.ts';
import { readSource, type Source } from '../desired/reading/source.ts';
import { planLines, type ShownSteps } from '../desired/show.ts';
import type { Settings } from '../settings.ts';
import { readArguments } from './arguments.ts';
import { openInstallation } from './installation.ts';
import { keyChecksOf } from './key-checks.ts';
import { type Remote, remoteFor, remoteOptions } from './remote.ts';
import { refuseFaults, showProgress } from './report.ts';

export const APPLY_USAGE = `gateway apply file.yaml [--dry-run] [--prune] [--yes] [--url <address> [--key-file <file>] [--plain-http]]

Makes the database as the file says: rules of the organisation, workspaces, virtual keys, configs, API keys, limits and policies.

  --dry-run           show the difference and change nothing
  --prune             delete what an earlier version of the file made and this one no longer names
  --yes               do not ask
  --url <address>     over HTTP, to a gateway that runs: https://gateway.example.com. Without it, the database itself is opened.
  --key-file <file>   the file that holds the key for it; else GATEWAY_ADMIN_KEY, or where you have signed in
  --plain-http        with --url: send the file and its secrets in clear to another machine
`;

const options = {
  'dry-run': { type: 'boolean', default: false },
  prune: { type: 'boolean', default: false },
  yes: { type: 'boolean', default: false },
  ...remoteOptions,
} as const;

/** The same in both places: the database of this installation, and a gateway that runs somewhere. */
interface Target {
  /** Faults that only the other side knows of go to the findings. */
  look(): Promise<ShownSteps & { readonly agreement: string | null; readonly missingScopes: readonly string[] }>;
  carryOut(agreement: string): Promise<void>;
  close(): Promise<void>;
}

interface Read {
  readonly source: Source;
  readonly file: ApplyFile;
  readonly findings: Findings;
  /** The secrets that the file refers to, by what refers to them. */
  readonly secrets: ReadonlyMap<unknown, string>;
  readonly prune: boolean;
  readonly isDryRun: boolean;
}

export async function apply(settings: Settings, rest: readonly string[]): Promise<void> {
  const { values, positionals } = readArguments(rest, { options, positionals: 1, usage: APPLY_USAGE });
  const path = resolve(positionals[0]!);
  const remote = remoteFor(settings, values, APPLY_USAGE);
  const findings = createFindings();
  const secrets = new Map<unknown, string>();
  const source = readSource(path, findings);
  const from = remembering(secretsHere({ environment: settings.environment, folder: dirname(path) }), secrets);
  const file = source && readApplyFile(source, findings, from);
  if (!source || !file || findings.faults.length > 0) return void refuseFaults(findings);
  const isDryRun = values['dry-run'];
  const read: Read = { source, file, findings, secrets, prune: values.prune, isDryRun };
  const target = remote ? overHttp(remote, read) : await onDatabase(settings, read);
  if (target === null) return;
  try {
    const plan = await target.look();
    if (refuseFaults(findings)) return;
    console.log(planLines(plan).join('\n'));
    for (const scope of plan.missingScopes) console.error(`The key lacks the scope ${scope}, which this needs.`);
    if (isDryRun || plan.steps.length === 0) return;
    if (plan.missingScopes.length > 0) {
      process.exitCode = 1;
      return console.error('Nothing was changed.');
    }
    if (!values.yes && !(await agrees())) return;
    await target.carryOut(plan.agreement!);
    console.log('Done.');
  } finally {
    await target.close();
  }
}

/** Null: the file has faults that only this gateway's checks show, and they have been told. */
async function onDatabase(
  settings: Settings,
  { source, file, findings, prune, isDryRun }: Read,
): Promise<Target | null> {
  const { desired } = file;
  await checkWishes(desired, keyChecksOf(settings), findings);
  if (refuseFaults(findings)) return null;
  const planOptions: PlanOptions = { manager: `apply/${file.name}`, mode: 'state', prune, place: source.placeOf([]) };
  const installation = await openInstallation(settings, { isDryRun });
  return {
    look: async () => ({ ...(await look(installation, desired, findings, planOptions)), missingScopes: [] }),
    carryOut: async (agreement) =>
      void (await carryOut(installation, { desired, plan: { agreement }, options: planOptions }, showProgress)),
    close: () => installation.close(),
  };
}

function overHttp({ call }: Remote, { source, findings, secrets, prune }: Read): Target {
  const file = withSecrets(source.value, secrets);
  return {
    look: async () => {
      const plan = await call<ShownPlan>('POST', '/v1/admin/apply/plan', { file, prune });
      for (const { path, message } of plan.faults) findings.fault(source.placeOf(path), message);
      return stepsOf(plan);
    },
    carryOut: async (agreement) => void (await call('POST', '/v1/admin/apply', { file, prune, agreement })),
    close: async () => {},
  };
}

const stepsOf = ({ steps, unchanged, kept, agreement, missing_scopes }: ShownPlan) => ({
  ...{ unchanged, kept, agreement, missingScopes: missing_scopes, leftDeleted: [] as Plan['leftDeleted'] },
  steps: steps.map(({ action, title, differences }) => ({
    ...{ action, title },
    differences: differences.map(
      ({ field, is_secret, from, to }): Difference =>
        is_secret ? { field } : { field, from: from ?? null, to: to ?? null },
    ),
  })),
});

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
