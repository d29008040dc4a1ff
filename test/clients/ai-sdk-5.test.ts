import { aiSdkClients } from './ai-sdk.ts';
import { walk } from './walk.ts';

walk(...aiSdkClients(5));
