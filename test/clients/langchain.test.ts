import { langchainClients } from './langchain.ts';
import { walk } from './walk.ts';

walk(...langchainClients);
