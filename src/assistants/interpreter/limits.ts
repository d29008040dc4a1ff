export interface CellLimits {
  readonly logBytes: number;
  readonly images: number;
  readonly files: number;
  readonly fileBytes: number;
  readonly walked: number;
}

/** What one cell may bring out of the sandbox, and take into it. */
export const LIMITS: CellLimits = {
  /** Of what it prints; more is cut in the middle. */
  logBytes: 64 << 10,
  images: 20,
  files: 50,
  /** All files and images together. */
  fileBytes: 64 << 20,
  /** Files below the working folder that are looked at. */
  walked: 20_000,
};

/** Of a program that calls tools: what it prints is all that comes of it. */
export const PROGRAM_LIMITS = { logBytes: 32 << 10, images: 0, files: 0, fileBytes: 0 } as const;

/** All files that are mounted together. */
export const INPUT_BYTES = 128 << 20;
export const CODE_BYTES = 1 << 20;
