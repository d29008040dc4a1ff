import { agentClients } from '../clients/agents.ts';
import { walk } from '../clients/walk.ts';

walk(...agentClients);
