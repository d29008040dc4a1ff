import { afterAll, beforeAll, expect, test } from 'bun:test';
import { NARROW, startConsole, type TestConsole, WIDE } from './browser.ts';

let console: TestConsole;
beforeAll(async () => {
  console = await startConsole();
});
afterAll(() => console.stop());

/** How many pixels of a picture are of a colour, and not ink or paper. */
function coloured(canvas: unknown): number {
  const { width, height, getContext } = canvas as {
    readonly width: number;
    readonly height: number;
    readonly getContext: (kind: string) => {
      getImageData(...square: number[]): { readonly data: ArrayLike<number> };
    };
  };
  const { data } = getContext.call(canvas, '2d').getImageData(0, 0, width, height);
  let count = 0;
  for (let at = 0; at < data.length; at += 4) {
    const parts = [data[at]!, data[at + 1]!, data[at + 2]!];
    if (data[at + 3]! > 200 && Math.max(...parts) - Math.min(...parts) > 60) count++;
  }
  return count;
}

for (const { theme, size, name } of [
  { theme: 'light', size: WIDE, name: 'wide' },
  { theme: 'dark', size: NARROW, name: 'narrow' },
] as const)
  test(`every component is drawn, ${theme} and ${name}, without a fault that matters to people`, async () => {
    const { tab, faults, axe, shot, close } = await console.open('/console/design', { theme, size });
    await tab.locator('.chart canvas').first().waitFor();
    expect(await tab.getByLabel('One point over time').locator('canvas').evaluate(coloured)).toBeGreaterThan(20);
    await tab.locator('.cm-content').waitFor();
    expect(await axe()).toEqual([]);
    expect(await tab.evaluate<number>('document.documentElement.scrollWidth')).toBeLessThanOrEqual(size.width);
    await shot(`design-${theme}-${name}`);
    await tab.mouse.wheel(0, 900);
    await shot(`design-${theme}-${name}-2`);
    expect(faults).toEqual([]);
    await close();
  });
