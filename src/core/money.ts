/** Money is counted in billionths of a US dollar: whole numbers, so that sums are exact. */
export const NANO_DOLLARS = 1e9;
