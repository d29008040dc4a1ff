import type { Cube, Digest } from '../aggregates/cubes.ts';
import { FIRST_WITH_DIGESTS } from '../aggregates/digests.ts';
import { DAYS, GRAINS, MINUTES } from '../aggregates/grains.ts';
import type { State } from '../aggregates/state.ts';
import type { LoggedTime, TimeRange } from './time-range.ts';

/** What is counted by cells of that grain. */
export interface Piece extends TimeRange {
  readonly grain: number;
}

/** And which cells are read of it. */
export interface CubePiece extends Piece {
  readonly cube: Cube;
}

export interface Plan {
  /** What was asked for; where what tells its bounds apart is gone, up to the nearest bounds that are known. */
  readonly range: TimeRange;
  readonly pieces: readonly Piece[];
  /** What has to be counted in the log. */
  readonly log: readonly LoggedTime[];
  /** What is in the pieces and lies behind the end of the time. */
  readonly less: TimeRange | null;
}

/** Behind a time that ended so short ago, less has come than lies before it in its last minute. */
const JUST_NOW_MS = 5_000;

const roundedUp = (moment: number, ms: number) => Math.ceil(moment / ms) * ms;
const roundedDown = (moment: number, ms: number) => Math.floor(moment / ms) * ms;
const lengthOf = ({ from, until }: TimeRange) => until - from;

/** How exactly a moment can be told: in milliseconds by the log, otherwise by the finest cells that are left. */
export function resolutionAt(moment: number, state: State): number {
  if (moment >= state.logPrunedBefore || moment < state.countedFrom) return 1;
  const { ms } = GRAINS.find(({ name }) => moment >= state.prunedBefore[name]) ?? GRAINS[DAYS];
  return ms;
}

export const widened = ({ from, until }: TimeRange, state: State): TimeRange => ({
  from: roundedDown(from, resolutionAt(from, state)),
  until: roundedUp(until, resolutionAt(until, state)),
});

/**
 * The coarsest cells for most of the time, finer ones for what is left at both ends, and the log for parts of minutes
 * and for what is not counted yet. Where finer cells are gone, the log has at most half of the shortest bucket that is left: of more, the
 * bucket is read, and the log says what of it is not meant. `from`: since when what is asked about is counted.
 */
export function planOf(
  range: TimeRange,
  state: State,
  { from, coarsest, now }: { readonly from: number; readonly coarsest: number; readonly now: number },
): Plan {
  const pieces: Piece[] = [];
  const log: LoggedTime[] = [];
  const within = (part: TimeRange, grain: number): TimeRange => {
    const { name, ms } = GRAINS[grain]!;
    return {
      from: roundedUp(Math.max(part.from, from, state.prunedBefore[name]), ms),
      until: Math.min(roundedDown(part.until, ms), state.rolledBefore[name]),
    };
  };
  /** Of a bucket at one end of the time, whether more than half is meant, finer cells cannot tell it apart, and the log has all of the bucket. */
  const isMostOf = (bucket: TimeRange, { from: begins, until: ends }: TimeRange, grain: number) => {
    if (grain === MINUTES || (ends - begins) * 2 <= lengthOf(bucket)) return false;
    if (bucket.from < state.logPrunedBefore || lengthOf(within(bucket, grain)) <= 0) return false;
    return GRAINS.slice(0, grain).every((_, finer) => lengthOf(within({ from: begins, until: ends }, finer)) <= 0);
  };
  const cover = (part: TimeRange, grain: number) => {
    if (part.from >= part.until) return;
    if (grain < 0) return void log.push(part);
    const { ms } = GRAINS[grain]!;
    let { from: begins, until: ends } = within(part, grain);
    if (begins >= ends) return cover(part, grain - 1);
    const [before, behind] = [begins - ms, ends + ms];
    if (isMostOf({ from: before, until: begins }, { from: part.from, until: begins }, grain)) {
      log.push({ from: before, until: part.from, isLess: true });
      begins = before;
    } else cover({ from: part.from, until: begins }, grain - 1);
    if (isMostOf({ from: ends, until: behind }, { from: ends, until: part.until }, grain)) {
      log.push({ from: part.until, until: behind, isLess: true });
      ends = behind;
    } else cover({ from: ends, until: part.until }, grain - 1);
    pieces.push({ grain, from: begins, until: ends });
  };
  const wide = widened(range, state);
  const minute = GRAINS[0].ms;
  const last = roundedDown(wide.until, minute);
  const isCounted = last >= Math.max(from, state.prunedBefore.minutes, roundedUp(wide.from, minute));
  const isJustNow = wide.until > last && wide.until > now - JUST_NOW_MS && isCounted;
  const end = isJustNow ? last + minute : wide.until;
  cover({ from: wide.from, until: end }, coarsest);
  return { range: wide, pieces, log, less: isJustNow ? { from: wide.until, until: end } : null };
}

/** Reads a digest where there is one that knows enough, and it has been made. */
export const readOf = (
  pieces: readonly Piece[],
  { cube, digest }: { readonly cube: Cube; readonly digest: Digest | null },
  { digestedFrom }: State,
): CubePiece[] =>
  pieces.flatMap((piece): CubePiece[] => {
    const from = digestedFrom[GRAINS[piece.grain]!.name];
    if (digest === null || piece.grain < FIRST_WITH_DIGESTS || piece.until <= from) return [{ ...piece, cube }];
    if (piece.from >= from) return [{ ...piece, cube: digest }];
    return [
      { ...piece, until: from, cube },
      { ...piece, from, cube: digest },
    ];
  });
