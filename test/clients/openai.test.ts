import { openaiClients } from './openai.ts';
import { walk } from './walk.ts';

walk(...openaiClients);
