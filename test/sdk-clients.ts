import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI } from '@google/genai';
import OpenAI from 'openai';

/** The vendors' own clients, told only where the gateway is and which key to send. */
export const openaiClient = (url: string, apiKey: string) =>
  new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 });

export const anthropicClient = (url: string, apiKey: string) => new Anthropic({ baseURL: url, apiKey, maxRetries: 0 });

export const googleClient = (url: string, apiKey: string) =>
  new GoogleGenAI({ apiKey, httpOptions: { baseUrl: `${url}/v1` } });

/** All that a stream said, and in how many pieces. */
export async function folded<Event>(stream: AsyncIterable<Event>, textOf: (event: Event) => string | null | undefined) {
  let text = '';
  let pieces = 0;
  for await (const event of stream) {
    const piece = textOf(event);
    if (!piece) continue;
    text += piece;
    pieces++;
  }
  return { text, pieces };
}
