import { test } from 'bun:test';
import { killedConversations } from '../realtime-kills.ts';

for (const tongue of ['openai', 'gemini'] as const)
  test(
    `of 200 conversations in real time in the dialect of ${tongue} during which the process is killed again and again, every response counts once`,
    () => killedConversations({ sessions: 200, kills: 10, tongue }),
    1_200_000,
  );
