import { expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { environmentFor, type Sample, samplesIn } from '../../../test/moving-corpus.ts';
import { createSealer } from '../../crypto/seal.ts';
import { carryOut, look } from '../../desired/carry-out.ts';
import { type Desired, nothing, type WorkspaceWish } from '../../desired/desired.ts';
import { createFindings, findingLines } from '../../desired/reading/findings.ts';
import { readDocument } from '../../desired/reading/source.ts';
import { openSqlite } from '../../storage/store.ts';
import { installationOn } from '../installation.ts';
import { readLitellm } from './litellm.ts';

const folder = join(import.meta.dir, '../../../test/fixtures/litellm/corpus');
const samples = samplesIn(folder);
const place = { file: 'config.yaml', line: 1 };

/** What all samples want, each in a workspace of its own. */
const wanted: Desired[] = [];

/** Reads and checks a sample; the texts are what the operator sees. */
async function read({ text }: Sample, workspace: string): Promise<{ faults: string[]; told: string }> {
  const reading = createFindings();
  const source = readDocument('config.yaml', text, reading, 'python');
  if (!source) return { faults: findingLines(reading.faults), told: '' };
  const files = { source, keySource: null, folder, environment: environmentFor(text) };
  const options = { workspace, skipsFaults: false, defaultVirtualKey: undefined };
  const { desired, findings } = await readLitellm(files, { trustedCustomHosts: [] }, options);
  if (findings.faults.length === 0) wanted.push(desired);
  const told = findingLines([...reading.notes, ...findings.notes, ...findings.leftOut]).join('\n');
  return { faults: findingLines(findings.faults), told };
}

test.each(samples.map((sample, index) => [sample.name, sample, index] as const))('%s', async (_name, sample, index) => {
  const { faults, told } = await read(sample, `sample-${index}`);

  if (sample.refusedFor === null) expect(faults).toEqual([]);
  else expect(faults.join('\n')).toContain(sample.refusedFor);
  for (const fault of faults) expect(fault).toMatch(/^config\.yaml:\d+: /);
  for (const says of sample.says) expect(told).toContain(says);
});

test('all of it is written at once, and a second time there is nothing to write', async () => {
  const installation = await installationOn(openSqlite(':memory:'), createSealer(randomBytes(32)), null);
  const workspaces = wanted.map(({ configs }): WorkspaceWish => {
    const { workspace: slug } = configs[0]!;
    return {
      place,
      ref: slug,
      slug,
      fields: { name: slug, description: null, defaults: {}, rate_limits: [], usage_limits: [] },
    };
  });
  const desired: Desired = {
    ...nothing,
    workspaces,
    virtualKeys: wanted.flatMap(({ virtualKeys }) => virtualKeys),
    configs: wanted.flatMap(({ configs }) => configs),
  };
  const options = { manager: 'import/litellm', mode: 'once', prune: false, place } as const;
  const findings = createFindings();
  try {
    const plan = await look(installation, desired, findings, options);
    await carryOut(installation, { desired, plan, options });
    const again = await look(installation, desired, findings, options);

    expect(findings.faults).toEqual([]);
    expect(plan.steps.length).toBeGreaterThan(2 * wanted.length);
    expect(again.steps).toEqual([]);
  } finally {
    await installation.close();
  }
});

test('of well-formed configs at least 95 of 100 are imported, as many as the page says', async () => {
  // A file that LiteLLM itself would not start with.
  const isBroken = ({ refusedFor }: Sample) =>
    refusedFor !== null && /cannot be understood|give a |is not set|give US dollars/.test(refusedFor);
  const wellFormed = samples.filter((sample) => !isBroken(sample));
  const taken = wellFormed.filter(({ refusedFor }) => refusedFor === null);

  expect(samples.length).toBeGreaterThanOrEqual(120);
  expect(taken.length / wellFormed.length).toBeGreaterThanOrEqual(0.95);
  const page = await Bun.file(join(import.meta.dir, '../../../docs/moving-in.md')).text();
  expect(page).toContain(`${taken.length} of ${wellFormed.length} well-formed LiteLLM configs`);
});
