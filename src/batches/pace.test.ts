import { expect, test } from 'bun:test';
import { Pace } from './pace.ts';

/** A process with a clock and a processor of the test's own. */
function startProcess() {
  let clock = 0;
  let cpu = 0;
  let lastCall = Number.NEGATIVE_INFINITY;
  const pace = new Pace({ now: () => clock, cpuMs: () => cpu, lastInteractiveAt: () => lastCall });
  return {
    pace,
    /** So many samples, each so late and with so much of a processor used; as many requests begin as may. */
    pass: (samples: number, { lateMs = 0, busy = 0, isCalled = true } = {}) => {
      let begun = 0;
      for (let count = 0; count < samples; count++) {
        clock += 10 + lateMs;
        cpu += (10 + lateMs) * busy;
        if (isCalled) lastCall = clock;
        pace.sample();
        while (pace.perSecond < Number.POSITIVE_INFINITY && pace.take()) begun++;
      }
      return begun;
    },
  };
}

test('while nobody else calls models, batches are as fast as they can be', () => {
  const { pace, pass } = startProcess();
  pass(100, { lateMs: 20, busy: 1, isCalled: false });
  expect(pace.perSecond).toBe(Number.POSITIVE_INFINITY);
  for (let count = 0; count < 1_000; count++) expect(pace.take()).toBe(true);
});

test('the first interactive call slows them down at once, and its end sets them free', () => {
  const { pace, pass } = startProcess();
  expect(pace.isGivingWay).toBe(false);
  pass(1);
  expect(pace.isGivingWay).toBe(true);
  expect(pace.perSecond).toBe(200);
  // A second of it.
  const begun = pass(100);
  expect(begun).toBeGreaterThan(195);
  expect(begun).toBeLessThan(300);
  pass(101, { isCalled: false });
  expect(pace.isGivingWay).toBe(false);
  expect(pace.perSecond).toBe(Number.POSITIVE_INFINITY);
});

test('they rise while the process is in time, and make room when their work makes it late', () => {
  const { pace, pass } = startProcess();
  pass(400, { busy: 0.2 });
  const risen = pace.perSecond;
  expect(risen).toBeGreaterThan(400);
  pass(30, { lateMs: 5, busy: 0.45 });
  expect(pace.perSecond).toBeLessThan(risen / 2);
  pass(1_000, { lateMs: 5, busy: 0.45 });
  expect(pace.perSecond).toBe(20);
});

test('a processor that is half used is enough, and lateness that is not of our making is none of our business', () => {
  const busy = startProcess();
  busy.pass(200, { busy: 0.8 });
  expect(busy.pace.perSecond).toBe(20);
  const disturbed = startProcess();
  disturbed.pass(200, { lateMs: 5, busy: 0.1 });
  expect(disturbed.pace.perSecond).toBeGreaterThan(200);
});
