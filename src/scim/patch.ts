import { fail } from '../core/errors.ts';
import { plainAttribute } from './filter.ts';

/** One thing that a PATCH does (RFC 7644 section 3.5.2). */
export interface Assignment {
  readonly operation: 'add' | 'replace' | 'remove';
  /** In small letters, without the schema in front: `active`, `name.givenname`, `members`. */
  readonly path: string;
  /** Which values of a list are meant: those whose `by` is `equal`. */
  readonly chosen: { readonly by: string; readonly equal: string } | null;
  /** As the directory wrote it. */
  readonly asWritten: string;
  readonly value: unknown;
}

export interface Operation {
  readonly op: string;
  readonly path?: string | null;
  readonly value?: unknown;
}

const LONGEST_PATH = 500;
const PATH = /^([A-Za-z$][\w.:$-]*)(?:\[\s*(\w+)\s+eq\s+("(?:[^"\\]|\\.)*"|\w+)\s*\](?:\.(\w+))?)?$/;
const EXTENSION = /^urn:ietf:params:scim:schemas:extension:/i;

/** Whether this is of a schema that no part of the gateway reads, such as that of enterprises. */
export const isOfExtension = (path: string): boolean => EXTENSION.test(path);

/**
 * The operations in one form. Entra writes `Replace` and `Add`, Okta `replace`; either names a path or gives an object whose
 * members are paths.
 */
export function readOperations(operations: readonly Operation[]): Assignment[] {
  return operations.flatMap(({ op, path, value }, index) => {
    const operation = op.toLowerCase();
    if (operation !== 'add' && operation !== 'replace' && operation !== 'remove')
      return fail('invalid_request', `Operations[${index}].op`, `is "${op.slice(0, 40)}"; give add, replace or remove`);
    if (path) return [assignmentAt(operation, path, value)];
    if (operation === 'remove') return fail('scim_path', '', 'is missing, and remove needs one');
    if (value === null || typeof value !== 'object' || Array.isArray(value))
      return fail('invalid_request', `Operations[${index}].value`, 'without a path, give an object of attributes');
    return Object.entries(value).map(([name, each]) => assignmentAt(operation, name, each));
  });
}

function assignmentAt(operation: Assignment['operation'], asWritten: string, value: unknown): Assignment {
  if (asWritten.length > LONGEST_PATH) fail('scim_path', asWritten, `is longer than ${LONGEST_PATH} characters`);
  if (isOfExtension(asWritten)) return { operation, path: asWritten, chosen: null, asWritten, value };
  const [, name, by, equal, member] = PATH.exec(asWritten.trim()) ?? fail('scim_path', asWritten, 'cannot be read');
  const path = plainAttribute(name!) + (member ? `.${member.toLowerCase()}` : '');
  const chosen = by ? { by: by.toLowerCase(), equal: equal!.replace(/^"|"$/g, '') } : null;
  return { operation, path, chosen, asWritten, value };
}
