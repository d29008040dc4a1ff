import { shapeFault } from '../../core/json-shape.ts';
import { DescriptionFault, isObject, type Json, memberOf } from './fault.ts';

export const MOST_DESCRIPTION_BYTES = 2 << 20;
/** YAML takes longer to read. */
const MOST_YAML_BYTES = 1 << 20;
const LIMITS = { depth: 64, members: 200_000, values: 400_000, texts: 400_000 };

/** The description that a text holds, as JSON or YAML. Throws `DescriptionFault`. */
export function readDescription(text: string): { readonly root: Json; readonly isOld: boolean } {
  const root = /^\s*\{/.test(text) ? ofJson(text) : ofYaml(text);
  if (!isObject(root)) throw new DescriptionFault('', 'is no OpenAPI description; it is to be an object');
  const version = memberOf(root, 'openapi');
  if (typeof version !== 'string' || !/^3\.[01]\.\d+/.test(version))
    throw new DescriptionFault(
      '/openapi',
      version === undefined && memberOf(root, 'swagger') !== undefined
        ? 'is missing; descriptions of Swagger 2 are to be converted to OpenAPI 3 first'
        : 'is to be a version of OpenAPI 3.0 or 3.1',
    );
  return { root, isOld: version.startsWith('3.0') };
}

function ofJson(text: string): unknown {
  const bytes = Buffer.from(text);
  if (bytes.length > MOST_DESCRIPTION_BYTES) throw tooLarge(MOST_DESCRIPTION_BYTES);
  const fault = shapeFault(bytes, LIMITS);
  if (fault) throw new DescriptionFault('', fault.why);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new DescriptionFault('', `is not valid JSON: ${(error as Error).message.slice(0, 200)}`);
  }
}

function ofYaml(text: string): unknown {
  if (Buffer.byteLength(text) > MOST_YAML_BYTES) throw tooLarge(MOST_YAML_BYTES, ' as YAML; give it as JSON');
  refuseDeepYaml(text);
  try {
    return Bun.YAML.parse(text);
  } catch (error) {
    throw new DescriptionFault('', `is not valid YAML: ${(error as Error).message.slice(0, 200)}`);
  }
}

/** Brackets and indents are all that nests in YAML. */
function refuseDeepYaml(text: string) {
  let open = 0;
  for (const character of text) {
    if (character === '[' || character === '{') open++;
    else if (character === ']' || character === '}') open = Math.max(0, open - 1);
    if (open > LIMITS.depth * 4) throw new DescriptionFault('', 'is nested too deep');
  }
  if (/^(?: {600}|(?:[-?] +){300})/m.test(text)) throw new DescriptionFault('', 'is nested too deep');
}

const tooLarge = (most: number, more = '') => new DescriptionFault('', `is larger than ${most} bytes${more}`);
