import { expect } from 'bun:test';
import type { TestConsole } from './browser.ts';
import { PAGES } from './pages.ts';

/** Every page that is open to a workspace admin: none fails, none asks for what is refused. */
export async function walkAsAdmin(console: TestConsole, { withAxe = false } = {}): Promise<void> {
  const { tab, faults, axe, visit, close } = await console.open('/console', { as: 'admin' });
  await tab.getByRole('heading', { level: 1 }).waitFor();
  const { scopes } = await tab.evaluate(
    async () => (await (await fetch('/v1/sessions/current')).json()) as { scopes: string[] },
  );
  const theirs = PAGES.filter(
    ({ path, scopes: needed }) =>
      !path.includes('$') && path !== '/design' && needed.every((scope) => scopes.includes(scope)),
  );
  expect(theirs.length).toBeGreaterThan(15);
  expect(theirs[0]!.path).toBe('/');
  for (const { path } of theirs) {
    const refused: string[] = [];
    const note = (response: { status(): number; url(): string }) => {
      if (response.status() === 403) refused.push(new URL(response.url()).pathname);
    };
    tab.on('response', note);
    // The page that is there already is loaded anew.
    if (path === theirs[0]!.path) await tab.reload({ waitUntil: 'networkidle' });
    else await visit(path);
    await tab.getByRole('heading', { level: 1 }).waitFor();
    tab.off('response', note);
    expect([path, refused, await tab.locator('.note-bad').allInnerTexts()]).toEqual([path, [], []]);
    if (withAxe) expect([path, await axe()]).toEqual([path, []]);
  }
  expect(faults).toEqual([]);
  await close();
}
