import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { root } from '../process.ts';

test('the official conformance suite loses nothing on its way through the gateway, in both eras', async () => {
  const child = Bun.spawn([process.execPath, join(root, 'test/mcp/conformance.ts')], {
    stdout: 'pipe',
    stderr: 'inherit',
  });
  const output = await child.stdout.text();
  expect(await child.exited).toBe(0);
  expect(output).toContain('2025-11-25  through gateway  30/30 required');
  expect(output).toContain('2026-07-28  through gateway  37/37 required');
  expect(output).toContain('2025-11-25  through policies 30/30 required');
  expect(output).toContain('2026-07-28  through policies 37/37 required');
  expect(output).toContain('2025-11-25  at one address   30/30 required');
  expect(output).toContain('2026-07-28  at one address   37/37 required');
  expect(output).toContain('authorization server         2/2 scenarios');
});
