import { whenPainted } from './painted.ts';

type Told = (width: number) => void;

const watched = new Map<Element, Told>();
/** Places that are not to be seen yet, and how wide they are. */
const below = new Map<Element, number>();

const tell = (place: Element, width: number) => {
  below.delete(place);
  watched.get(place)?.(width);
};

/** What is further down comes when the browser has painted what is seen. */
function tellTheRest() {
  for (const [place, width] of below) tell(place, width);
}

const sizes = new ResizeObserver((entries) => {
  // All are looked at before one is told: what it draws would have the page laid out anew for the next.
  const seen = entries.map(({ target, contentRect }) => {
    const { top, bottom } = target.getBoundingClientRect();
    return { target, width: Math.round(contentRect.width), isInView: bottom > 0 && top < innerHeight };
  });
  const isNew = below.size === 0;
  for (const { target, width, isInView } of seen)
    if (isInView) tell(target, width);
    else below.set(target, width);
  if (isNew && below.size > 0) void whenPainted().then(tellTheRest);
});

/**
 * Tells how wide a place is, at once and whenever that changes: when the page is laid out and before it is painted, since to ask for
 * it would have all of the page laid out for every chart. Places that are in view are told first.
 */
export function watchWidth(place: Element, told: Told): () => void {
  watched.set(place, told);
  sizes.observe(place);
  return () => {
    sizes.unobserve(place);
    watched.delete(place);
    below.delete(place);
  };
}
