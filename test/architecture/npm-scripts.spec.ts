import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import vitestConfig from '../../vitest.config.js';
import { readText, repositoryFiles, root } from './repository-files.js';

/* Every `npm run …` and `npm test …` of a page, comment, script or workflow names something that exists. */

type Table = Record<string, string>;
const load = async <Module>(path: string) => (await import(pathToFileURL(join(root, path)).href)) as Module;

const { scripts } = JSON.parse(readText('package.json')) as { scripts: Table };
const { benches } = await load<{ benches: Table }>('scripts/benches.mjs');
const { projects, programs } = await load<{ projects: Table; programs: Table }>('scripts/suites.mjs');
const { nightlySteps } = await load<{ nightlySteps: { name: string }[] }>('scripts/nightly-steps.mjs');

/** The words that may follow `npm run <script> --` or `npm test --`. */
const words: Record<string, readonly string[]> = {
  bench: Object.keys(benches),
  test: [...Object.keys(projects), ...Object.keys(programs)],
  nightly: ['all', ...nightlySteps.map(({ name }) => name)],
  advisories: ['check', 'refresh'],
  dashboards: ['images'],
};

/** The scripts and names in a text that do not exist. */
function unknownNames(text: string): string[] {
  const calls = text.matchAll(/npm (?:run (?:-s )?([a-z][\w:-]*)|(test)\b)(?: -- ([a-z][\w-]*))?/g);
  return [...calls].flatMap(([call, script = 'test', , word]) => {
    if (!Object.hasOwn(scripts, script)) return [call];
    const known = words[script];
    return word !== undefined && known !== undefined && !known.includes(word) ? [call] : [];
  });
}

describe('npm scripts', () => {
  const texts = repositoryFiles.filter(
    (path) =>
      !/(^|\/)(package-lock\.json|__fixtures__\/.*)$|\.(png|jpg|webp|onnx|wav|pdf)$/.test(path) &&
      path !== 'test/architecture/npm-scripts.spec.ts',
  );

  it.each(['README.md', '.ci/run', 'CONTRIBUTING.md', 'k8s/observability/rules/sluice.rules.yaml'])(
    'are looked for in %s',
    (path) => expect(texts).toContain(path),
  );

  it('exist wherever a file of the repository names them', () => {
    expect(texts.flatMap((path) => unknownNames(readText(path)).map((call) => `${path}: ${call}`))).toEqual([]);
  });

  it('are checked: names that do not exist are found', () => {
    const wrong =
      'Run npm run bench:text, npm run -s slice, npm run bench -- txt, npm test -- e2 and npm run nightly -- al.';
    expect(unknownNames(wrong)).toEqual([
      'npm run bench:text',
      'npm run -s slice',
      'npm run bench -- txt',
      'npm test -- e2',
      'npm run nightly -- al',
    ]);
    expect(unknownNames('npm test; npm run bench -- text --model x; npm test -- faults --quick')).toEqual([]);
  });

  it('are at most 18, because a suite, bench or nightly step is an argument of one', () => {
    expect(Object.keys(scripts).length).toBeLessThanOrEqual(18);
  });
});

describe('the tables behind npm scripts', () => {
  it('name every bench: each file in bench/ that declares a command line', () => {
    const declared = repositoryFiles
      .filter((path) => /^bench\/[^/]+\.ts$/.test(path) && path !== 'bench/settings.ts')
      .filter((path) => readText(path).includes('benchOptions('))
      .map((path) => path.slice('bench/'.length, -'.ts'.length));
    expect(Object.keys(benches).toSorted()).toEqual(declared.toSorted());
  });

  it('name every project of vitest.config.ts', () => {
    const configured = (vitestConfig.test?.projects ?? []).map(
      (project) => (project as { test: { name: string } }).test.name,
    );
    // `k8s` needs kustomize, which its program finds.
    expect([...Object.keys(projects), 'k8s'].toSorted()).toEqual(configured.toSorted());
  });

  it('are listed with one line each in bench/README.md', () => {
    const rows = readText('bench/README.md').match(/^\| `[a-z-]+`[^|]*\|/gm) ?? [];
    expect(Object.keys(benches).filter((name) => !rows.some((row) => row.includes(`\`${name}\``)))).toEqual([]);
  });
});
