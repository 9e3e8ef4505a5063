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
    // The first is the owner; the second shows callers how to give a client its key.
    const allowed = /^(libs\/platform\/src\/config\/|apps\/local\/src\/banner\.ts:)/;
    expect(stray.filter((place) => !allowed.test(place))).toEqual([]);
  });

  it('reaches other hosts through egress, and where the operator says through model-store, alone', () => {
    const stray = offences(/(?<![.\w])fetch\(|\bhttps?\.(get|request)\(|from 'node:https'/);
    // Both ask our own api on this machine.
    const allowed =
      /^(libs\/(egress|model-store)\/|apps\/local\/src\/services\.ts:|apps\/cli\/src\/models\/online-state\.ts:)/;
    expect(stray.filter((place) => !allowed.test(place))).toEqual([]);
  });

  it('throws PlatformError, never the exceptions of the framework', () => {
    const pattern = /new (BadRequest|NotFound|Unauthorized|Forbidden|InternalServerError|Http|Conflict)Exception\(/;
    expect(offences(pattern)).toEqual([]);
  });

  it('leaves no unfinished work behind', () => {
    expect(
      offences(
        /\b(TODO|FIXME|XXX|HACK)\b|not implemented/i,
        sources.filter((path) => !path.startsWith('test/architecture/')),
      ),
    ).toEqual([]);
  });

  it('switches no type check off, and no lint rule without saying why', () => {
    expect(offences(/@ts-(ignore|expect-error|nocheck)|\bas any\b|(oxlint|eslint)-disable(?!.* -- )/)).toEqual([]);
  });

  it('swallows no error', () => {
    const empty = productSources.filter((path) => /catch\s*(\([^)]*\))?\s*\{\s*\}/.test(readText(path)));
    expect(empty).toEqual([]);
  });

  it('keeps one vocabulary: parameters are spelled out', () => {
    const short = '(req|res|err|e|evt|idx|cb|ctx|opts|args_)';
    expect(offences(new RegExp(`\\(${short}(: [\\w.<>]+)?\\) (=>|\\{)|\\(${short}(: [\\w.<>]+)?, `))).toEqual([]);
  });
});

describe('tests', () => {
  const tests = sources.filter((path) => /\.(spec|int-spec|e2e-spec|fault-spec|models-spec)\.ts$/.test(path));

  it('all run: none is focused, skipped or left for later', () => {
    const house = /^test\/house\//;
    // Where there is no Redis, a suite shows so by one skipped test; `.ci/run` makes sure that there is one.
    const redis = (place: string) => /redis[^/]*\.int-spec\.ts:/.test(place);
    const pattern = /\b(it|test|describe)\.(only|skip|todo)\b|\b(xit|xdescribe|fit|fdescribe)\(/;
    const found = offences(
      pattern,
      tests.filter((path) => !house.test(path)),
    );
    expect(found.filter((place) => !redis(place))).toEqual([]);
  });

  it('say what the code does, not what it should do', () => {
    expect(offences(/\b(it|test)\(\s*['"`](should|works|does its|test)\b/, tests)).toEqual([]);
  });
});
