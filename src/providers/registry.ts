import { ai302 } from './302ai.ts';
import { ai21 } from './ai21.ts';
import { aibadgr } from './aibadgr.ts';
import { anthropic } from './anthropic.ts';
import { anyscale } from './anyscale.ts';
import { azureAi } from './azure-ai.ts';
import { azureOpenai } from './azure-openai.ts';
import { bedrock } from './bedrock.ts';
import { bytez } from './bytez.ts';
import { cerebras } from './cerebras.ts';
import { cohere } from './cohere.ts';
import { cometapi } from './cometapi.ts';
import { cortex } from './cortex.ts';
import { dashscope } from './dashscope.ts';
import { deepbricks } from './deepbricks.ts';
import { deepinfra } from './deepinfra.ts';
import { deepseek } from './deepseek.ts';
import { featherlessAi } from './featherless-ai.ts';
import { fireworksAi } from './fireworks-ai.ts';
import { github } from './github.ts';
import { google } from './google.ts';
import { groq } from './groq.ts';
import { huggingface } from './huggingface.ts';
import { hyperbolic } from './hyperbolic.ts';
import { inferenceNet } from './inference-net.ts';
import { iointelligence } from './iointelligence.ts';
import { jina } from './jina.ts';
import { klusterAi } from './kluster-ai.ts';
import { krutrim } from './krutrim.ts';
import { lambda } from './lambda.ts';
import { lemonfoxAi } from './lemonfox-ai.ts';
import { lepton } from './lepton.ts';
import { lingyi } from './lingyi.ts';
import { matterai } from './matterai.ts';
import { meshy } from './meshy.ts';
import { milvus } from './milvus.ts';
import { mistralAi } from './mistral-ai.ts';
import { modal } from './modal.ts';
import { monsterapi } from './monsterapi.ts';
import { moonshot } from './moonshot.ts';
import { ncompass } from './ncompass.ts';
import { nebius } from './nebius.ts';
import { nextbit } from './nextbit.ts';
import { nomic } from './nomic.ts';
import { novitaAi } from './novita-ai.ts';
import { nscale } from './nscale.ts';
import { ollama } from './ollama.ts';
import { openai } from './openai.ts';
import { openrouter } from './openrouter.ts';
import { oracle } from './oracle.ts';
import { ovhcloud } from './ovhcloud.ts';
import { palm } from './palm.ts';
import { perplexityAi } from './perplexity-ai.ts';
import { predibase } from './predibase.ts';
import type { Provider } from './provider.ts';
import { qdrant } from './qdrant.ts';
import { recraftAi } from './recraft-ai.ts';
import { rekaAi } from './reka-ai.ts';
import { replicate } from './replicate.ts';
import { sagemaker } from './sagemaker.ts';
import { sambanova } from './sambanova.ts';
import { segmind } from './segmind.ts';
import { siliconflow } from './siliconflow.ts';
import { simulator } from './simulator.ts';
import { stabilityAi } from './stability-ai.ts';
import { togetherAi } from './together-ai.ts';
import { tripo3d } from './tripo3d.ts';
import { triton } from './triton.ts';
import { upstage } from './upstage.ts';
import { vertexAi } from './vertex-ai.ts';
import { voyage } from './voyage.ts';
import { workersAi } from './workers-ai.ts';
import { xAi } from './x-ai.ts';
import { zAi } from './z-ai.ts';
import { zhipu } from './zhipu.ts';

/** Every provider the gateway knows, by name. A new one is a new file and a line here. */
export const providers: readonly Provider[] = [
  ai302,
  ai21,
  aibadgr,
  anthropic,
  anyscale,
  azureAi,
  azureOpenai,
  bedrock,
  bytez,
  cerebras,
  cohere,
  cometapi,
  cortex,
  dashscope,
  deepbricks,
  deepinfra,
  deepseek,
  featherlessAi,
  fireworksAi,
  github,
  google,
  groq,
  huggingface,
  hyperbolic,
  inferenceNet,
  iointelligence,
  jina,
  klusterAi,
  krutrim,
  lambda,
  lemonfoxAi,
  lepton,
  lingyi,
  matterai,
  meshy,
  milvus,
  mistralAi,
  modal,
  monsterapi,
  moonshot,
  ncompass,
  nebius,
  nextbit,
  nomic,
  novitaAi,
  nscale,
  ollama,
  openai,
  openrouter,
  oracle,
  ovhcloud,
  palm,
  perplexityAi,
  predibase,
  qdrant,
  recraftAi,
  rekaAi,
  replicate,
  sagemaker,
  sambanova,
  segmind,
  siliconflow,
  simulator,
  stabilityAi,
  togetherAi,
  tripo3d,
  triton,
  upstage,
  vertexAi,
  voyage,
  workersAi,
  xAi,
  zAi,
  zhipu,
].sort((a, b) => (a.name < b.name ? -1 : 1));

const byName = new Map(providers.map((provider) => [provider.name, provider]));

export const findProvider = (name: string): Provider | undefined => byName.get(name);

/** Every option any provider reads, for checking `configurations` and for headers that must not be forwarded. */
export const optionNames: ReadonlySet<string> = new Set(providers.flatMap(({ options = [] }) => options));
