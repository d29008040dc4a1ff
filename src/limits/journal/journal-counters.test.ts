import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chargeOf, reservationOf, settlementOf } from '../../../test/limits/counters-suite.ts';
import { openSqlite, type Store } from '../../storage/store.ts';
import type { Reservation } from '../counters/counters.ts';
import { openJournalCounters } from './journal-counters.ts';

let store: Store;
let folder: string;
beforeAll(async () => {
  store = openSqlite(':memory:');
  await store.migrate();
});
afterAll(() => store.close());
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gateway-journal-counters-'));
});
afterEach(async () => {
  rmSync(folder, { recursive: true, force: true });
  await store.db.deleteFrom('usage_ledger').execute();
  await store.db.deleteFrom('limit_counters').execute();
});

const HOLD = 60_000;
let now = Date.now();
const open = (more: { folder?: string } = {}) => openJournalCounters({ store, folder, now: () => now, ...more });
const call = (amount = 10) => reservationOf(chargeOf('tokens', amount, 1_000));
const ledger = () => store.db.selectFrom('usage_ledger').selectAll().execute();

async function level(where: { folder?: string } = {}) {
  const counters = await open(where);
  const found = (await counters.read(['tokens'])).get('tokens');
  await counters.close();
  return found ?? { used: 0, held: 0 };
}

/** What a killed process leaves behind: its files, as they are now. */
function snapshot(): string {
  const copy = `${folder}/copy-${readdirSync(folder).length}`;
  for (const part of ['holds', 'ledger']) cpSync(join(folder, part), join(copy, part), { recursive: true });
  return copy;
}

test('a restart goes on where the process ended', async () => {
  const counters = await open();
  const [done, running] = [call(30), call(20)];
  counters.reserve(done, HOLD);
  counters.reserve(running, HOLD);
  counters.settle(settlementOf(done, 12));
  await counters.close();

  expect(await level()).toEqual({ used: 12, held: 20 });
});

test('a hold counts after a kill, and at its estimate when it ends', async () => {
  const counters = await open();
  const running = call(20);
  counters.reserve(running, HOLD);
  const left = snapshot();
  await counters.close();

  expect(await level({ folder: left })).toEqual({ used: 0, held: 20 });
  now += HOLD + 1;
  expect(await level({ folder: left })).toEqual({ used: 20, held: 0 });
  expect(await ledger()).toMatchObject([{ id: running.id, state: 'estimated', settled: 0 }]);
  expect(await level({ folder: left })).toEqual({ used: 20, held: 0 });
});

test('a settlement under the next process corrects what the killed one left', async () => {
  const first = await open();
  const running = call(20);
  first.reserve(running, HOLD);
  const left = snapshot();
  await first.close();
  now += HOLD + 1;
  expect(await level({ folder: left })).toEqual({ used: 20, held: 0 });

  const second = await open({ folder: left });
  second.settle(settlementOf(running, 3));
  second.settle(settlementOf(running, 500));
  await second.flush();

  expect((await second.read(['tokens'])).get('tokens')).toEqual({ used: 3, held: 0 });
  await second.close();
  expect(await level({ folder: left })).toEqual({ used: 3, held: 0 });
});

test('a settlement that a kill loses leaves its hold; one that reached the disk counts, and once', async () => {
  const counters = await open();
  const [lost, kept] = [call(30), call(20)];
  counters.reserve(lost, HOLD);
  counters.reserve(kept, HOLD);
  counters.settle(settlementOf(kept, 7));
  const deadline = Date.now() + 60_000;
  const onDisk = () =>
    readdirSync(join(folder, 'ledger')).some((name) => readFileSync(join(folder, 'ledger', name)).length > 0);
  while (!onDisk() && Date.now() < deadline) await Bun.sleep(2);
  counters.settle(settlementOf(lost, 8));
  const left = snapshot();

  expect(await level({ folder: left })).toEqual({ used: 7, held: 30 });
  await counters.close();
  // The first process was not really killed, so its rows came after all: each is counted once.
  expect(await level({ folder: left })).toEqual({ used: 15, held: 0 });
});

test('a journal of holds that is cut at any byte is replayed up to the last whole record', async () => {
  const counters = await open();
  const amounts = [1, 10, 100];
  for (const amount of amounts) counters.reserve(call(amount), HOLD);
  await counters.close();
  const [name] = readdirSync(join(folder, 'holds'));
  const whole = readFileSync(join(folder, 'holds', name!));
  const cut = join(folder, 'cut');
  mkdirSync(join(cut, 'holds'), { recursive: true });

  for (let size = 0; size <= whole.byteLength; size++) {
    for (const old of readdirSync(join(cut, 'holds'))) rmSync(join(cut, 'holds', old));
    writeFileSync(join(cut, 'holds', name!), whole.subarray(0, size));
    const records = whole.subarray(0, size).toString('latin1').split('\n').length - 1;

    expect(await level({ folder: cut })).toEqual({
      used: 0,
      held: amounts.slice(0, records).reduce((sum, amount) => sum + amount, 0),
    });
  }
});

test('settled calls on disk that are cut at any byte count up to the last whole record', async () => {
  const counters = await open();
  const calls = [1, 10, 100].map((amount) => call(amount));
  for (const one of calls) counters.reserve(one, HOLD);
  const files = () => readdirSync(join(folder, 'ledger')).map((name) => join(folder, 'ledger', name));
  const spooled = () => files().reduce((size, file) => size + readFileSync(file).length, 0);
  for (const one of calls) {
    const before = spooled();
    counters.settle(settlementOf(one, one.charges[0]!.amount * 2));
    const deadline = Date.now() + 60_000;
    while (spooled() === before && Date.now() < deadline) await Bun.sleep(2);
  }
  const [file] = files();
  const whole = readFileSync(file!);
  const holds = snapshot();
  await counters.close();
  const sizes = [...Array(Math.ceil(whole.byteLength / 3)).keys()].map((third) => third * 3);

  for (const size of [...sizes, whole.byteLength]) {
    await store.db.deleteFrom('usage_ledger').execute();
    await store.db.deleteFrom('limit_counters').execute();
    const cut = join(folder, `cut-${size}`);
    cpSync(holds, cut, { recursive: true });
    writeFileSync(join(cut, 'ledger', file!.split('/').at(-1)!), whole.subarray(0, size));
    const records = whole.subarray(0, size).toString('latin1').split('\n').length - 1;
    const sum = (of: readonly Reservation[]) => of.reduce((total, { charges }) => total + charges[0]!.amount, 0);

    expect(await level({ folder: cut })).toEqual({
      used: 2 * sum(calls.slice(0, records)),
      held: sum(calls.slice(records)),
    });
    rmSync(cut, { recursive: true, force: true });
  }
});

test('a damaged journal stops the start and names the file', async () => {
  const counters = await open();
  for (let index = 0; index < 3; index++) counters.reserve(call(), HOLD);
  await counters.close();
  const file = join(folder, 'holds', readdirSync(join(folder, 'holds'))[0]!);
  writeFileSync(file, readFileSync(file, 'utf8').replace('organisation', 'organization'));

  expect(open()).rejects.toThrow(`${file} is damaged: record 1 of 3`);
});

test('the journal of holds starts again with what is open, and stays small', async () => {
  const counters = await open();
  counters.reserve(call(3), HOLD);
  const segments = () => readdirSync(join(folder, 'holds'));
  let started = segments()[0]!;
  let restarts = 0;
  for (let index = 0; index < 12_000; index++) {
    // Different enough from those before it to be written down whole.
    const name = `${index % 50} is a rather long name ${'x'.repeat(200)}`;
    const one = reservationOf(chargeOf('many', 1, 1e9), chargeOf(name, 1, 1e9));
    counters.reserve(one, HOLD);
    const segment = segments()[0]!;
    if (segment !== started) {
      expect(readFileSync(join(folder, 'holds', segment), 'utf8')).toContain(one.id);
      started = segment;
      restarts++;
    }
    counters.settle(settlementOf(one));
    if (index % 1_000 === 0) await counters.flush();
  }
  const sizes = segments().map((name) => readFileSync(join(folder, 'holds', name)).length);
  await counters.close();

  expect(restarts).toBeGreaterThan(0);
  expect(sizes).toHaveLength(1);
  expect(sizes[0]!).toBeLessThan(5 << 20);
  expect(await level()).toEqual({ used: 0, held: 3 });
});

test('a call whose hold cannot be written down is refused and not counted', async () => {
  const counters = await open();
  await counters.close();

  // A folder that is gone fails for root, too, which a folder without permissions would not.
  const broken = await open();
  broken.reserve(call(1), HOLD);
  await broken.close();
  rmSync(join(folder, 'holds'), { recursive: true });

  expect(() => broken.reserve(call(5), HOLD)).toThrow(expect.objectContaining({ code: 'store_unavailable' }));
  expect((await broken.read(['tokens'])).get('tokens')).toEqual({ used: 0, held: 1 });
});

test('a full disk refuses calls, takes the next one that fits, and loses none that it took', async () => {
  const child = join(import.meta.dir, '../../../test/limits/full-disk-child.ts');
  // A limit on the size of files is like the end of the disk: one write is cut short, and the next one fails.
  const limited = 'trap "" XFSZ && ulimit -f 64 && exec "$@"';
  const command = ['sh', '-c', limited, 'sh', process.execPath, child, folder, String(now)];
  const printed = await new Response(Bun.spawn(command, { stderr: 'inherit' }).stdout).json();
  const outcomes = printed as string[];
  const admitted = outcomes.filter((outcome) => outcome === 'true').length;

  expect(outcomes.slice(0, 3)).toEqual(['true', 'store_unavailable', 'true']);
  expect(outcomes.at(-1)).toBe('store_unavailable');
  expect(await level()).toEqual({ used: 0, held: 10 * admitted });
});

test('counters of windows that have ended are not kept', async () => {
  const counters = await open();
  const one = reservationOf({ counter: 'tokens', amount: 1, max: 10, endsAt: now + 100 });
  counters.reserve(one, HOLD);
  now += 101;
  counters.settle(settlementOf(one));
  await counters.close();

  expect(await store.db.selectFrom('limit_counters').selectAll().execute()).toEqual([]);
  expect(await ledger()).toHaveLength(1);
  expect(await level()).toEqual({ used: 0, held: 0 });
});

test('a process that is killed at any moment loses no admitted call', async () => {
  const place = join(folder, 'killed');
  mkdirSync(place);
  chmodSync(place, 0o700);
  const admitted = new Set<string>();
  for (const lifeMs of [150, 250, 350]) {
    const child = Bun.spawn([process.execPath, join(import.meta.dir, '../../../test/limits/journal-child.ts'), place], {
      stdout: 'pipe',
      stderr: 'inherit',
    });
    const reading = new Response(child.stdout).text();
    const deadline = Date.now() + 60_000;
    while (!readdirSync(place).includes('begun') && Date.now() < deadline) await Bun.sleep(5);
    await Bun.sleep(lifeMs);
    child.kill('SIGKILL');
    await child.exited;
    rmSync(join(place, 'begun'));
    const lines = (await reading).split('\n');
    // The last line may be torn.
    for (const id of lines.slice(0, -1)) admitted.add(id);
  }
  const own = openSqlite(join(place, 'state.db'));
  const counters = await openJournalCounters({
    store: own,
    folder: join(place, 'limits'),
    now: () => Date.now() + HOLD,
  });
  await counters.read([]);
  await counters.flush();
  const rows = await own.db.selectFrom('usage_ledger').selectAll().execute();
  const known = new Set(rows.map(({ id }) => id));
  // As the child settles them; the others ended.
  const charged = rows.reduce((sum, { settled }) => sum + (settled === 1 ? 4 : 10), 0);

  expect(admitted.size).toBeGreaterThan(100);
  expect([...admitted].filter((id) => !known.has(id))).toEqual([]);
  expect((await counters.read(['tokens'])).get('tokens')).toEqual({ used: charged, held: 0 });
  await counters.close();
  await own.close();
});
