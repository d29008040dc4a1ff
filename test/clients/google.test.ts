import { googleClients } from './google.ts';
import { walk } from './walk.ts';

walk(...googleClients);
