/** A change of the defaults of a key or workspace. */
export interface DefaultsChange {
  readonly defaults?: object;
  /** Those that the change does not name stay; else it replaces them all. */
  readonly keeps_other_defaults?: boolean;
}

export const defaultsAfter = ({ defaults, keeps_other_defaults }: DefaultsChange, old: string): object =>
  keeps_other_defaults ? { ...JSON.parse(old), ...defaults } : { ...defaults };
