import { expect, test } from 'bun:test';
import { harmDuringBatch } from '../chaos/batch.ts';
import { newDataDir, removeDataDir } from '../process.ts';

test('a process that is killed three times during a batch leaves each request with exactly one line', async () => {
  const dataDir = newDataDir();
  try {
    const { faults, errors, sentTwice } = await harmDuringBatch({ lines: 300, harms: 3, dataDirs: [dataDir] });
    expect(faults).toEqual([]);
    expect(errors).toBe(0);
    // No more than can be under way, or answered and not yet saved, at three moments.
    expect(sentTwice).toBeLessThan(3 * 300);
  } finally {
    removeDataDir(dataDir);
  }
});
