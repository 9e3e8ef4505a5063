import { describe, expect, it } from 'vitest';
import { productSources, readText, sources } from './repository-files.js';

/** Lines of the product that match, as `path:line`. */
function offences(pattern: RegExp, paths: readonly string[] = productSources): string[] {
  return paths.flatMap((path) =>
    readText(path)
      .split('\n')
      .flatMap((line, index) => (pattern.test(line) ? [`${path}:${index + 1}`] : [])),
  );
}

describe('code that ships', () => {
  it('reads the environment in platform/config alone', () => {
    const stray = offences(
      /\bprocess\.env\b|\bprocess\[['"]env['"]\]|import \{[^}]*\benv\b[^}]*\} from 'node:process'/,
    );
    expect(stray.filter((place) => !place.startsWith('libs/platform/src/config/'))).toEqual([]);
  });

  it('throws PlatformError, never the exceptions of the framework', () => {
    const pattern = /new (BadRequest|NotFound|Unauthorized|Forbidden|InternalServerError|Http|Conflict)Exception\(/;
    expect(offences(pattern)).toEqual([]);
  });

  it('leaves no unfinished work behind', () => {
    expect(
      offences(
        /\b(TODO|FIXME|XXX|HACK)\b|not implemented/i,
        sources.filter((path) => !path.startsWith('test/house/')),
      ),
    ).toEqual([]);
  });

  it('switches no type check off', () => {
    expect(offences(/@ts-(ignore|expect-error|nocheck)|\bas any\b|oxlint-disable|eslint-disable/)).toEqual([]);
  });

  it('swallows no error', () => {
    const empty = productSources.filter((path) => /catch\s*(\([^)]*\))?\s*\{\s*\}/.test(readText(path)));
    expect(empty).toEqual([]);
  });

  it('keeps one vocabulary: request, error, index are spelled out in signatures', () => {
    expect(offences(/[(,]\s*(req|res|err|idx|cb|ctx)\s*(:|,|\))/)).toEqual([]);
  });
});

describe('tests', () => {
  const tests = sources.filter((path) => /\.(spec|int-spec|e2e-spec|models-spec)\.ts$/.test(path));

  it('all run: none is focused, skipped or left for later', () => {
    const house = /^test\/house\//;
    const pattern = /\b(it|test|describe)\.(only|skip|todo)\b|\b(xit|xdescribe|fit|fdescribe)\(/;
    expect(
      offences(
        pattern,
        tests.filter((path) => !house.test(path)),
      ),
    ).toEqual([]);
  });

  it('say what the code does, not what it should do', () => {
    expect(offences(/\b(it|test)\(\s*['"`](should|works|does its|test)\b/, tests)).toEqual([]);
  });
});
