import type { BatchDeps } from '../kinds.ts';
import type { AskDeps } from './ask.ts';

export type NativeDeps = BatchDeps & { readonly native: AskDeps & { readonly firstPollMs?: number } };
