import { ollamaClients } from './ollama.ts';
import { walk } from './walk.ts';

walk(...ollamaClients);
