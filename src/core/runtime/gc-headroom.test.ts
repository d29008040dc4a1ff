import { expect, test } from 'bun:test';
import { BodyHeadroom, GcHeadroom } from './gc-headroom.ts';

test('headroom is held while many bytes of bodies pass, and released when few do or none', async () => {
  const headroom = new GcHeadroom(1 << 20);
  const bodies = new BodyHeadroom(headroom, 20);
  const until = async (isHeld: boolean) => {
    for (let tries = 0; tries < 100 && headroom.isHeld !== isHeld; tries++) await Bun.sleep(10);
    expect(headroom.isHeld).toBe(isHeld);
  };
  bodies.passed(1 << 20);
  await Bun.sleep(60);
  expect(headroom.isHeld).toBe(false);
  bodies.passed(65 << 20);
  await until(true);
  await until(false);
  bodies.passed(65 << 20);
  await until(true);
});
