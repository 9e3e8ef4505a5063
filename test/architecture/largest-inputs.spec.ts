import { describe, expect, it } from 'vitest';
import { readText } from './repository-files.js';

const families = [...readText('libs/inference/src/contract/family-names.ts').matchAll(/^  '([a-z0-9-]+)',$/gm)].map(
  ([, name = '']) => name,
);

/** Test and families of a row of the table in bench/notes/memory.md. */
const rows = [...readText('bench/notes/memory.md').matchAll(/^\| `(test\/\S+)` +\|[^|]+\| (`[^|]+`) +\|$/gm)].map(
  ([, path = '', names = '']) => ({ path, names: [...names.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name) }),
);

describe('the largest accepted input', () => {
  it('of every family has a test, which bench/notes/memory.md names', () => {
    expect(families.length).toBeGreaterThan(15);
    const tested = new Set(rows.flatMap(({ names }) => names));
    expect(families.filter((name) => !tested.has(name))).toEqual([]);
    expect([...tested].filter((name) => !families.includes(name))).toEqual([]);
  });

  it.each(rows)('of each family of $path is in it', ({ path, names }) => {
    const text = readText(path);
    expect(names.filter((name) => !new RegExp(`\\b${name}[:)]`).test(text))).toEqual([]);
  });
});
