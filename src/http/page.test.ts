import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { html, page } from './page.ts';

const tokens = readFileSync(join(import.meta.dir, '../../web/design/tokens.css'), 'utf8');
const declaredIn = (css: string) =>
  new Map([...css.matchAll(/--([\w-]+): (#[0-9a-f]{6});/g)].map(([, name, colour]) => [name!, colour!]));

test('pages without a script have the colours of the console, light and dark', async () => {
  const text = await page({ title: 'Title', body: html`<p>Body</p>` }).text();
  const [light, dark] = text.split('@media (prefers-color-scheme: dark)').map(declaredIn);
  const [ofConsole, ofDarkConsole] = tokens.split('[data-theme="dark"]').map(declaredIn);
  expect(light!.size).toBeGreaterThan(10);
  expect([...dark!.keys()]).toEqual([...light!.keys()]);
  for (const [name, colour] of light!) expect([name, colour]).toEqual([name, ofConsole!.get(name)!]);
  for (const [name, colour] of dark!) expect([name, colour]).toEqual([name, ofDarkConsole!.get(name)!]);
});

test('what is put into a page is text there, and the policy lets no script run', async () => {
  const hostile = '<script>alert(1)</script>"\'';
  const answer = page({ title: hostile, body: html`<p title="${hostile}">${hostile}</p>` });
  expect(await answer.text()).not.toContain('<script>');
  const policy = answer.headers.get('content-security-policy')!;
  expect(policy).toStartWith("default-src 'none'; style-src 'sha256-");
  expect(policy).toContain("frame-ancestors 'none'");
});
