import { expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { environmentFor, type Sample, samplesIn } from '../../../test/moving-corpus.ts';
import { createSealer } from '../../crypto/seal.ts';
import { carryOut, look } from '../../desired/carry-out.ts';
import { type Desired, nothing, type WorkspaceWish } from '../../desired/desired.ts';
import { createFindings, findingLines } from '../../desired/reading/findings.ts';
import { readDocument } from '../../desired/reading/source.ts';
import { planLines } from '../../desired/show.ts';
import { openSqlite } from '../../storage/store.ts';
import { installationOn } from '../installation.ts';
import { readPortkey } from './portkey.ts';

const folder = join(import.meta.dir, '../../../test/fixtures/portkey/corpus');
const samples = samplesIn(folder);
const place = { file: 'export.json', line: 1 };

/** What all samples want, each in a workspace of its own. */
const wanted: Desired[] = [];

async function read({ text }: Sample, workspace: string): Promise<{ faults: string[]; told: string }> {
  const reading = createFindings();
  const source = readDocument('export.json', text, reading);
  if (!source) return { faults: findingLines(reading.faults), told: '' };
  const file = { source, folder, environment: environmentFor(text), fallback: 'config' };
  const options = { workspace, skipsFaults: false, virtualKeysOnly: false };
  const { desired, findings } = await readPortkey(file, { trustedCustomHosts: [] }, options);
  if (findings.faults.length === 0) wanted.push(desired);
  return {
    faults: findingLines(findings.faults),
    told: findingLines([...findings.notes, ...findings.leftOut]).join('\n'),
  };
}

test.each(samples.map((sample, index) => [sample.name, sample, index] as const))('%s', async (_name, sample, index) => {
  const { faults, told } = await read(sample, `sample-${index}`);

  if (sample.refusedFor === null) expect(faults).toEqual([]);
  else expect(faults.join('\n')).toContain(sample.refusedFor);
  for (const fault of faults) expect(fault).toMatch(/^export\.json:\d+: /);
  for (const says of sample.says) expect(told).toContain(says);
});

test('all of it is written at once, a second time there is nothing to write, and no key is shown', async () => {
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
  const options = { manager: 'import/portkey', mode: 'once', prune: false, place } as const;
  const findings = createFindings();
  try {
    const plan = await look(installation, desired, findings, options);
    await carryOut(installation, { desired, plan, options });
    const again = await look(installation, desired, findings, options);

    expect(findings.faults).toEqual([]);
    expect(plan.steps.length).toBeGreaterThan(2 * wanted.length);
    expect(again.steps).toEqual([]);
    expect(planLines({ ...plan, kept: [] }).join('\n')).not.toMatch(/sk-|AKIA|ya29|azure-key|private_key/);
    expect(JSON.stringify(desired.configs)).not.toMatch(/api_key|aws_secret|private_key/);
  } finally {
    await installation.close();
  }
});

test('of well-formed configs at least 95 of 100 are imported, as many as the page says', async () => {
  // What Portkey itself would not take, or what holds no config.
  const isBroken = ({ refusedFor }: Sample) =>
    refusedFor !== null &&
    /give a config object|give "single"|names no target|is not set|does not say/.test(refusedFor);
  const wellFormed = samples.filter((sample) => !isBroken(sample));
  const taken = wellFormed.filter(({ refusedFor }) => refusedFor === null);

  expect(wellFormed.length).toBeGreaterThanOrEqual(60);
  expect(taken.length / wellFormed.length).toBeGreaterThanOrEqual(0.95);
  const page = await Bun.file(join(import.meta.dir, '../../../docs/moving-in.md')).text();
  expect(page).toContain(`${taken.length} of ${wellFormed.length} well-formed Portkey configs`);
});
