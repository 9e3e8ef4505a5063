import { describe, expect, it } from 'vitest';
import { productSources, readText } from './repository-files.js';

/** `@Inject(X)` in front of a parameter of type `X`, with or without modifiers. */
const redundantToken = /@Inject\((\w+)\)\s+(?:(?:private|protected|public|readonly)\s+)*\w+: \1(?=[,)])/g;

const injectLists = /inject: \[([^\]]*)\]/g;

/** A factory with more dependencies is a class that should name them in its constructor. */
const maxInjected = 4;

function findAll(path: string, pattern: RegExp): RegExpMatchArray[] {
  return [...readText(path).matchAll(pattern)];
}

describe('dependency injection', () => {
  it('reads class tokens from the types of constructors, and repeats none with @Inject', () => {
    const redundant = productSources.flatMap((path) =>
      findAll(path, redundantToken).map(([parameter]) => `${path}: ${parameter}`),
    );
    expect(redundant).toEqual([]);
    expect('@Inject(Drain) private readonly drain: Drain,'.match(redundantToken)).toHaveLength(1);
    expect("@Inject(Drain) drain: Pick<Drain, 'end'>,".match(redundantToken)).toBeNull();
  });

  it('has no factory with many positional dependencies', () => {
    const modules = productSources.filter((path) => path.endsWith('.module.ts'));
    const lists = modules.flatMap((path) => findAll(path, injectLists).map(([, list = '']) => ({ path, list })));
    expect(lists.length).toBeGreaterThan(5);
    const long = lists.filter(({ list }) => list.split(',').filter((name) => name.trim() !== '').length > maxInjected);
    expect(long).toEqual([]);
  });
});
