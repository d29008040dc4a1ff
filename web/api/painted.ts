let next: Promise<void> | null = null;

/**
 * When the browser has painted what is drawn by now, charts too, and has time again. All who wait are told at once, so that what they ask
 * goes together. A page that is not to be seen is not painted.
 */
export function whenPainted(): Promise<void> {
  if (document.hidden) return Promise.resolve();
  next ??= new Promise((resolve) => {
    requestAnimationFrame(() =>
      setTimeout(() => {
        next = null;
        resolve();
      }),
    );
  });
  return next;
}
