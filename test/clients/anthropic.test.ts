import { anthropicClients } from './anthropic.ts';
import { walk } from './walk.ts';

walk(...anthropicClients);
