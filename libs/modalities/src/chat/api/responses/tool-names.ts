import { createHash } from 'node:crypto';

/** What a function of the chat is in the Responses format. */
export interface ToolIdentity {
  name: string;
  /** Absent: none. */
  namespace?: string;
  /** Its input is free text. */
  isCustom: boolean;
}

/** Longest name of a function. */
const maxLength = 64;

/** Characters of a digest behind a name that is cut. */
const digestLength = 8;

/** The name of a function of the chat: the model knows no namespaces. */
export function chatToolName({ name, namespace }: { name: string; namespace?: string | null }): string {
  if (!namespace) return name;
  const joined = namespace.endsWith('__') ? `${namespace}${name}` : `${namespace}__${name}`;
  if (joined.length <= maxLength) return joined;
  const digest = createHash('sha256').update(joined).digest('hex').slice(0, digestLength);
  return `${joined.slice(0, maxLength - digestLength - 1)}_${digest}`;
}

/** The tools of one request by their names in the chat. */
export class ToolNames {
  private readonly known = new Map<string, ToolIdentity>();

  /** Adds a tool; returns its name in the chat. */
  add(identity: ToolIdentity): string {
    const name = chatToolName(identity);
    this.known.set(name, identity);
    return name;
  }

  of(name: string): ToolIdentity {
    return this.known.get(name) ?? { name, isCustom: false };
  }
}
