import { afterEach, beforeEach, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openPricesFile } from './prices-file.ts';

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gateway-prices-'));
  path = join(folder, 'prices.json');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const million = { inputTokens: 1_000_000, outputTokens: 1_000_000 };
const write = (input: unknown) =>
  writeFileSync(path, JSON.stringify({ prices: { openai: { 'gpt-4o': { input, output: 0 } } } }));
const opened = async () => {
  const problems: (string | null)[] = [];
  const prices = await openPricesFile({ path, onProblem: (problem) => problems.push(problem) });
  prices.close();
  return { prices, problems };
};

test('a change of the file is in force after it was looked at', async () => {
  write(1);
  const { prices, problems } = await opened();
  expect(prices.costOf('openai', 'gpt-4o', million)).toBe(1);

  write(22);
  await prices.refresh();

  expect(prices.costOf('openai', 'gpt-4o', million)).toBe(22);
  expect(problems).toEqual([]);
});

test('a faulty file keeps the old prices, is reported once, and so is its recovery', async () => {
  write(1);
  const { prices, problems } = await opened();

  write(-1);
  await prices.refresh();
  await prices.refresh();
  expect(prices.costOf('openai', 'gpt-4o', million)).toBe(1);
  expect(problems).toHaveLength(1);
  expect(problems[0]).toContain('prices.openai["gpt-4o"].input: must not be negative');
  expect(prices.problem).toBe(problems[0]!);

  writeFileSync(path, '{"prices":');
  await prices.refresh();
  expect(problems[1]).toContain('is not JSON');

  rmSync(path);
  await prices.refresh();
  expect(problems[2]).toContain('cannot be read (ENOENT)');
  expect(prices.costOf('openai', 'gpt-4o', million)).toBe(1);

  write(333);
  await prices.refresh();
  expect(problems.slice(3)).toEqual([null]);
  expect(prices.problem).toBeNull();
  expect(prices.costOf('openai', 'gpt-4o', million)).toBe(333);
});

test('a start with a file that cannot be used is refused, with the fault', async () => {
  await expect(opened()).rejects.toThrow(/^GATEWAY_PRICES_FILE: .* cannot be read \(ENOENT\)\.$/);
  write('cheap');
  await expect(opened()).rejects.toThrow(/prices\.openai\["gpt-4o"\]\.input: give US dollars/);
  writeFileSync(path, '[]');
  await expect(opened()).rejects.toThrow(/give \{"prices"/);
});
