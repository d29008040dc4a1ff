import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ADMIN_KEY, startGateway, type TestGateway } from '../gateway.ts';
import { shapeNamed, undecodable } from '../terraform-shapes.ts';

/**
 * What the Terraform provider `portkey-ai/portkey` sends for each of its resources, from `apply` to `destroy`. A case is a
 * file; its steps are written from the calls that the provider's client makes, in words of our own.
 */
interface Step {
  /** Which command of Terraform makes the call. */
  readonly during: string;
  readonly sends: string;
  readonly body?: unknown;
  /** 200 unless it is said. */
  readonly status?: number;
  /** The Go type that takes the answer. */
  readonly decodes?: string;
  /** Members of the answer that later steps name in braces. */
  readonly keeps?: Readonly<Record<string, string>>;
  /** What the answer must say, so that the next plan finds no difference. */
  readonly says?: unknown;
  /** What a refusal must say. */
  readonly because?: string;
}
interface Case {
  readonly resource: string;
  readonly steps: readonly Step[];
}

const FOLDER = join(import.meta.dir, '../fixtures/terraform');
const cases = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.json'))
  .map((name): Case => JSON.parse(readFileSync(join(FOLDER, name), 'utf8')));

const at = (value: unknown, path: string): unknown =>
  path.split('.').reduce((each, member) => (each as Record<string, unknown>)?.[member], value);

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(`Terraform on ${engine}`, () => {
    let gateway: TestGateway;
    const known: Record<string, unknown> = {};
    beforeAll(async () => {
      gateway = await startGateway({ engine, environment: { GATEWAY_HEADER_ALIASES: 'x-portkey-' } });
      const workspace = await gateway.given.workspace({ name: `Terraform ${engine}` });
      const email = `terraform-${engine}@example.com`;
      const user = await gateway.api.post('/v1/admin/users', { email, role: 'member', workspaces: [] });
      Object.assign(known, {
        workspace: workspace.id,
        workspace_slug: workspace.slug,
        user: user.json.id,
        host: gateway.provider.url,
        origin: gateway.provider.origin,
      });
    });
    afterAll(() => gateway.stop());

    /** `{name}` is what an earlier step has kept. */
    const filled = <Value>(value: Value, names: Readonly<Record<string, unknown>>): Value =>
      JSON.parse(JSON.stringify(value).replace(/\{(\w+)\}/g, (all, name) => String(names[name] ?? all)));

    for (const { resource, steps } of cases) {
      test(`${resource}: what it sends is understood, and what it is answered it can read`, async () => {
        const names: Record<string, unknown> = { ...known };
        for (const step of steps) {
          const [method, path] = filled(step.sends, names).split(' ') as [string, string];
          const told = `${step.during}: ${method} ${path}`;
          const reply = await gateway.api.call(method, `/v1${path}`, {
            key: null,
            headers: { 'x-portkey-api-key': ADMIN_KEY, 'content-type': 'application/json' },
            body: step.body === undefined ? undefined : JSON.stringify(filled(step.body, names)),
          });
          expect(`${told} → ${reply.status} ${reply.status === (step.status ?? 200) ? '' : reply.text}`).toBe(
            `${told} → ${step.status ?? 200} `,
          );
          if (step.because) expect(reply.json.error.message).toContain(step.because);
          if (step.decodes) expect([told, ...undecodable(reply.json, shapeNamed(step.decodes))]).toEqual([told]);
          if (step.says) expect(reply.json).toMatchObject(filled(step.says, names) as object);
          for (const [name, member] of Object.entries(step.keeps ?? {})) names[name] = at(reply.json, member);
        }
      });
    }
  });
}
