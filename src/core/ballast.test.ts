import { expect, test } from 'bun:test';
import { Ballast, BodyBallast } from './ballast.ts';

test('ballast is carried while many bytes of bodies pass, and dropped when few do or none', async () => {
  const ballast = new Ballast(1 << 20);
  const bodies = new BodyBallast(ballast, 20);
  const until = async (isCarried: boolean) => {
    for (let tries = 0; tries < 100 && ballast.isCarried !== isCarried; tries++) await Bun.sleep(10);
    expect(ballast.isCarried).toBe(isCarried);
  };
  bodies.passed(1 << 20);
  await Bun.sleep(60);
  expect(ballast.isCarried).toBe(false);
  bodies.passed(65 << 20);
  await until(true);
  await until(false);
  bodies.passed(65 << 20);
  await until(true);
});
