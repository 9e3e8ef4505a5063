import { join } from 'node:path';
import { vi } from 'vitest';
import { root } from '../repository-files.js';

/** Loads a module and returns the expressions that it, or what it imports, puts together meanwhile. */
export async function recordExpressions(path: string): Promise<RegExp[]> {
  const plain = globalThis.RegExp;
  const recorded: RegExp[] = [];
  const Recorder = new Proxy(plain, {
    construct: (target, given: [string | RegExp, string?]) => {
      const expression = new target(...given);
      recorded.push(expression);
      return expression;
    },
  });
  // Modules that are loaded already would put nothing together.
  vi.resetModules();
  globalThis.RegExp = Recorder;
  try {
    await import(join(root, path));
  } finally {
    globalThis.RegExp = plain;
    vi.resetModules();
  }
  return recorded;
}
