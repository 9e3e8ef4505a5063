import { describe, expect, it } from 'vitest';
import { productSources, readText, sources } from './repository-files.js';

/** Matching lines of production code, as `path:line`. */
function violations(pattern: RegExp, paths: readonly string[] = productSources): string[] {
  return paths.flatMap((path) =>
    readText(path)
      .split('\n')
      .flatMap((line, index) => (pattern.test(line) ? [`${path}:${index + 1}`] : [])),
  );
}

describe('production code', () => {
  it('reads the environment in platform/config only', () => {
    const stray = violations(
      /\bprocess\.env\b|\bprocess\[['"]env['"]\]|import \{[^}]*\benv\b[^}]*\} from 'node:process'/,
    );
    // The first is the owner; the others print examples of how to configure a client.
    const allowed =
      /^(libs\/platform\/src\/config\/|apps\/local\/src\/banner\.ts:|apps\/console\/src\/playground\/chat\/copy-as\.ts:)/;
    expect(stray.filter((place) => !allowed.test(place))).toEqual([]);
  });

  it('reaches other hosts only through egress and, for operator URLs, model-store', () => {
    const stray = violations(/(?<![.\w])fetch\(|\bhttps?\.(get|request)\(|from 'node:https'/);
    // They call our own API on this machine, the one that an operator wants to verify, or from a browser the one that
    // serves the page.
    const allowed =
      /^(apps\/console\/src\/api\/|libs\/(egress|model-store)\/|apps\/local\/src\/services\.ts:|apps\/cli\/src\/models\/(online-state|try-through-api)\.ts:|apps\/cli\/src\/tee\/verify-service\.ts:)/;
    expect(stray.filter((place) => !allowed.test(place))).toEqual([]);
  });

  it('counts processors within the quota of the control group', () => {
    const stray = violations(/\bavailableParallelism\b/);
    expect(stray.filter((place) => !place.startsWith('libs/platform/src/process/available-processors.'))).toEqual([]);
  });

  it('throws PlatformError, never framework exceptions', () => {
    const pattern = /new (BadRequest|NotFound|Unauthorized|Forbidden|InternalServerError|Http|Conflict)Exception\(/;
    expect(violations(pattern)).toEqual([]);
  });

  it('contains no TODOs', () => {
    expect(
      violations(
        /\b(TODO|FIXME|XXX|HACK)\b|not implemented/i,
        sources.filter((path) => !path.startsWith('test/architecture/')),
      ),
    ).toEqual([]);
  });

  it('disables no type check, and no lint rule without a reason', () => {
    expect(violations(/@ts-(ignore|expect-error|nocheck)|\bas any\b|(oxlint|eslint)-disable(?!.* -- )/)).toEqual([]);
  });

  it('swallows no error', () => {
    const empty = productSources.filter((path) => /catch\s*(\([^)]*\))?\s*\{\s*\}/.test(readText(path)));
    expect(empty).toEqual([]);
  });

  it('spells out parameter names', () => {
    const short = '(req|res|err|e|evt|idx|cb|ctx|opts|args_)';
    expect(violations(new RegExp(`\\(${short}(: [\\w.<>]+)?\\) (=>|\\{)|\\(${short}(: [\\w.<>]+)?, `))).toEqual([]);
  });
});

describe('tests', () => {
  const tests = sources.filter((path) =>
    /\.(spec|int-spec|e2e-spec|fault-spec|models-spec|nightly-spec|chains-spec|clients-spec|console-spec)\.ts$/.test(
      path,
    ),
  );

  it('all run: none is focused, skipped or left for later', () => {
    const architectureTests = /^test\/architecture\//;
    // Without Redis a suite shows one skipped test; `.ci/run` requires Redis.
    const redis = (place: string) => /redis[^/]*\.int-spec\.ts:/.test(place);
    const pattern = /\b(it|test|describe)\.(only|skip|todo)\b|\b(xit|xdescribe|fit|fdescribe)\(/;
    const found = violations(
      pattern,
      tests.filter((path) => !architectureTests.test(path)),
    );
    expect(found.filter((place) => !redis(place))).toEqual([]);
  });

  it('say what the code does, not what it should do', () => {
    expect(violations(/\b(it|test)\(\s*['"`](should|works|does its|test)\b/, tests)).toEqual([]);
  });
});
