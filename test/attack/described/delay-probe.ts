import type { Delay } from './delay.ts';

/** `bun delay-probe.ts http://…`: how long `/health` takes, asked every 10 ms until standard input ends. */
const [url] = process.argv.slice(2);
const delays: number[] = [];
let isOver = false;
void Bun.stdin.text().then(() => {
  isOver = true;
});
while (!isOver) {
  const startedAt = performance.now();
  await fetch(`${url}/health`)
    .then((response) => response.arrayBuffer())
    .catch(() => null);
  delays.push(performance.now() - startedAt);
  await Bun.sleep(10);
}
delays.sort((one, other) => one - other);
const at = (share: number) => Math.round((delays[Math.floor((delays.length - 1) * share)] ?? 0) * 10) / 10;
console.log(JSON.stringify({ worstMs: at(1), p99Ms: at(0.99) } satisfies Delay));
