import { portkeyClients } from './portkey.ts';
import { walk } from './walk.ts';

walk(...portkeyClients);
