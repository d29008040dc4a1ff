import { test } from 'bun:test';
import { killedConversations } from '../realtime-kills.ts';

test(
  'of 200 conversations in real time during which the process is killed again and again, every response counts once',
  () => killedConversations({ sessions: 200, kills: 10 }),
  1_200_000,
);
