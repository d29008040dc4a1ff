/** A model server on this machine, at the port that it takes unless told otherwise. */
export interface LocalServer {
  /** The slug of its virtual key. */
  readonly slug: string;
  readonly title: string;
  readonly provider: string;
  readonly port: number;
}

export const LOCAL_SERVERS: readonly LocalServer[] = [
  { slug: 'ollama', title: 'Ollama', provider: 'ollama', port: 11_434 },
  { slug: 'lm-studio', title: 'LM Studio', provider: 'openai', port: 1_234 },
  { slug: 'vllm', title: 'vLLM', provider: 'openai', port: 8_000 },
  { slug: 'llama-cpp', title: 'llama.cpp', provider: 'openai', port: 8_080 },
];

export const hostOf = ({ port }: LocalServer): string => `127.0.0.1:${port}`;
/** Where its routes in OpenAI's format are. */
export const addressOf = (server: LocalServer): string => `http://${hostOf(server)}/v1`;
