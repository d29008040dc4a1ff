/** One thing at a time, and what is waited for before what has time. */
export interface Turns {
  take<Result>(isWaitedFor: boolean, work: () => Promise<Result>): Promise<Result>;
}

export function createTurns(): Turns {
  const [first, second]: (() => Promise<unknown>)[][] = [[], []];
  let isBusy = false;
  const next = async () => {
    if (isBusy) return;
    isBusy = true;
    for (let work = first!.shift() ?? second!.shift(); work; work = first!.shift() ?? second!.shift()) await work();
    isBusy = false;
  };
  return {
    take: <Result>(isWaitedFor: boolean, work: () => Promise<Result>) =>
      new Promise<Result>((resolve, reject) => {
        (isWaitedFor ? first! : second!).push(() => work().then(resolve, reject));
        void next();
      }),
  };
}
