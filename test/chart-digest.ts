import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './process.ts';

/**
 * By it is known whether what Helm made was made of the templates and values that lie here. The schema, which follows from the
 * settings, and the version do not count: whoever adds a setting need not have Helm.
 */
export function chartDigest(): string {
  const hash = createHash('sha256');
  const inside = (folder: string) =>
    readdirSync(join(root, folder))
      .sort()
      .map((name) => `${folder}/${name}`);
  for (const path of [
    'deploy/helm/gateway/values.yaml',
    ...inside('deploy/helm/gateway/templates'),
    ...inside('deploy/helm/values'),
  ])
    hash
      .update(`${path}\0`)
      .update(readFileSync(join(root, path)))
      .update('\0');
  return hash.digest('hex');
}
