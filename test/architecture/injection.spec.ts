import { describe, expect, it } from 'vitest';
import { productSources, readText } from './repository-files.js';

/** `@Inject(X)` in front of a parameter of type `X`, with or without modifiers. */
const redundantToken = /@Inject\((\w+)\)\s+(?:(?:private|protected|public|readonly)\s+)*\w+: \1(?=[,)])/g;

const injectLists = /inject: \[([^\]]*)\]/g;

/** A factory with more dependencies is a class that should name them in its constructor. */
const maxInjected = 4;

/** Functions that compose for processes without NestJS, or within one call. Services get their repositories injected. */
const compositions = [
  'libs/billing/src/create-ledger.ts',
  'libs/characters/src/bundled/install-bundled.ts',
  'libs/jobs/src/store-checks/examine-stores.ts',
];

/**
 * A parameter that takes some members of a class, because product code or many tests pass only those. Other code takes
 * the class; a test passes `testDouble({ … })` (test/harness/test-double.ts).
 */
const narrowedParameter =
  /@Inject\((\w+)\)\s+(?:(?:private|protected|public|readonly)\s+)*(?:\w+|\{[^}]*\}): Pick<\1,/g;
const maxNarrowed = 14;

const newRepository = /\bnew \w+Repository\(/g;
const repositoryClass = /(@Injectable\(\)\n)?export class \w+Repository\b/g;

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

  it('names the class itself, and a part of it only where its callers have no more', () => {
    const narrowed = productSources.flatMap((path) => findAll(path, narrowedParameter).map(([parameter]) => parameter));
    expect(narrowed.length).toBeLessThanOrEqual(maxNarrowed);
    expect("@Inject(Drain) drain: Pick<Drain, 'end'>,".match(narrowedParameter)).toHaveLength(1);
    expect("@Inject(Drain) { end }: Pick<Drain, 'end'>,".match(narrowedParameter)).toHaveLength(1);
  });

  it('injects repositories, and creates none in services', () => {
    const created = productSources
      .filter((path) => /^(libs|apps\/(api|ops|worker))\//.test(path) && !compositions.includes(path))
      .flatMap((path) => findAll(path, newRepository).map(([call]) => `${path}: ${call}`));
    expect(created).toEqual([]);
    expect('this.repository = new JobsRepository(prisma);'.match(newRepository)).toHaveLength(1);
    for (const path of compositions) expect(findAll(path, newRepository), path).not.toEqual([]);
  });

  it('makes every repository a provider with its class as token', () => {
    const classes = productSources
      .filter((path) => path.endsWith('.repository.ts'))
      .flatMap((path) =>
        findAll(path, repositoryClass).map(([declaration, decorator]) => ({ declaration, decorator })),
      );
    expect(classes.length).toBeGreaterThan(35);
    const plain = classes.filter(({ decorator }) => decorator === undefined).map(({ declaration }) => declaration);
    expect(plain).toEqual([]);
  });

  it('has no factory with many positional dependencies', () => {
    const modules = productSources.filter((path) => path.endsWith('.module.ts'));
    const lists = modules.flatMap((path) => findAll(path, injectLists).map(([, list = '']) => ({ path, list })));
    expect(lists.length).toBeGreaterThan(5);
    const long = lists.filter(({ list }) => list.split(',').filter((name) => name.trim() !== '').length > maxInjected);
    expect(long).toEqual([]);
  });
});
