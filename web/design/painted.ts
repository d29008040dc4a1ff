const LONGEST_MS = 200;
/** Safari does not tell when it has time. */
const whenIdle = (work: () => void) =>
  'requestIdleCallback' in window ? requestIdleCallback(work, { timeout: LONGEST_MS }) : setTimeout(work);

let next: Promise<void> | null = null;

/**
 * When what is drawn by now, charts too, has been painted and shown, and the browser has time again. All who wait are told at once, so
 * that what they ask goes together. A page that is not to be seen is not painted.
 */
export function whenPainted(): Promise<void> {
  if (document.hidden) return Promise.resolve();
  next ??= new Promise((resolve) => {
    const tell = () => {
      next = null;
      resolve();
    };
    // Charts are drawn within the first frame, once the page is laid out; the second one begins when that is to be seen.
    requestAnimationFrame(() => requestAnimationFrame(() => whenIdle(tell)));
  });
  return next;
}
