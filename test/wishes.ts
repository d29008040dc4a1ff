import { join } from 'node:path';
import { readLitellm } from '../src/cli/litellm/litellm.ts';
import { readPortkey } from '../src/cli/portkey/portkey.ts';
import { readApplyFile } from '../src/desired/applying/file.ts';
import type { Desired } from '../src/desired/desired.ts';
import type { PlanOptions } from '../src/desired/plan.ts';
import { createFindings } from '../src/desired/reading/findings.ts';
import { secretsHere } from '../src/desired/reading/secrets.ts';
import { readDocument, readSource } from '../src/desired/reading/source.ts';

/** What the commands make of their files, for tests of what becomes of it. */
export interface Wishes {
  readonly desired: Desired;
  readonly options: PlanOptions;
}

const fixtures = join(import.meta.dir, 'fixtures');
const place = { file: 'test', line: 1 };
const settings = { trustedCustomHosts: [] };
const environment = {
  SIMULATED_BASE: 'https://models.example.com/v1',
  OPENAI_API_KEY: 'sk-openai',
  APPLY_PROVIDER_KEY: 'sk-provider',
  APPLY_AWS_ID: 'AKIAIOSFODNN7EXAMPLE',
  APPLY_AWS_SECRET: 'aws',
  APPLY_NOTEBOOK_KEY: 'gw-notebook-key-for-tests',
};

const importing = (from: string, desired: Desired): Wishes => ({
  desired,
  options: { manager: `import/${from}`, mode: 'once', prune: false, place },
});
const applying = (file: string, text: string): Wishes => {
  const findings = createFindings();
  const source = readDocument(file, text, findings)!;
  const { desired } = readApplyFile(source, findings, secretsHere({ environment, folder: fixtures }))!;
  return { desired, options: { manager: 'apply/fixture', mode: 'state', prune: true, place } };
};

/** By the name of a command: the files that are given to it, one after the other. */
export async function wishesOf(command: string): Promise<Wishes[]> {
  if (command === 'apply') {
    const text = await Bun.file(join(fixtures, 'apply/gateway.yaml')).text();
    // The second file changes some, and names some no more.
    const changed = text.replace('value: 600', 'value: 300').replace(/ {2}- slug: bedrock[\s\S]*?(?=configs:)/, '');
    return [applying('first.yaml', text), applying('second.yaml', changed.replace(/, \{ virtual_key: bedrock \}/, ''))];
  }
  if (command === 'litellm') {
    const findings = createFindings();
    const folder = join(fixtures, 'litellm');
    const source = readSource(join(folder, 'config.yaml'), findings, 'python')!;
    const keySource = readSource(join(folder, 'keys.json'), findings);
    const options = { workspace: 'default', skipsFaults: false, defaultVirtualKey: undefined };
    return [
      importing('litellm', (await readLitellm({ source, keySource, folder, environment }, settings, options)).desired),
    ];
  }
  const text = JSON.stringify({
    strategy: { mode: 'single' },
    targets: [{ provider: 'openai', api_key: 'sk-inside' }],
  });
  const source = readDocument('export.json', text, createFindings())!;
  const options = { workspace: 'default', skipsFaults: false, virtualKeysOnly: false };
  const file = { source, environment, folder: fixtures, fallback: 'one' };
  return [importing('portkey', (await readPortkey(file, settings, options)).desired)];
}
