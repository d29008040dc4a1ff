const kept: ArrayBuffer[] = [];

/**
 * The more there is that stays, the more the collector lets come before it looks for what can go. Bodies that pass count
 * as what comes, although hardly any is left when it looks. Nobody ever touches these bytes, so they take no memory; what
 * waits longer to be collected does, as much as this at most.
 */
export function carryBallast(bytes: number): void {
  kept.push(new ArrayBuffer(bytes));
}
