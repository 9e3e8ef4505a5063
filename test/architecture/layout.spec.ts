import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { productSources, readText, repositoryFiles, root, sources } from './repository-files.js';

const tracked = new Set(repositoryFiles);

function namesUnder(pattern: RegExp): string[] {
  return [...new Set(repositoryFiles.flatMap((path) => pattern.exec(path)?.[1] ?? []))];
}

describe('the project layout', () => {
  it.each([
    'README.md',
    'ARCHITECTURE.md',
    'CONTRIBUTING.md',
    'CHANGELOG.md',
    'LICENSE',
    'NOTICE',
    'nest-cli.json',
    '.ci/run',
    'docs/reference/errors.md',
    'docs/reference/configuration.md',
    'docs/start/api.md',
    'docs/operate/performance.md',
  ])('has %s', (path) => {
    expect(tracked.has(path)).toBe(true);
  });

  it('has a README of at most one page for every library', () => {
    const libraries = namesUnder(/^libs\/([^/]+)\//);
    const missing = libraries.filter((library) => !tracked.has(`libs/${library}/README.md`));
    expect(missing).toEqual([]);
    const long = libraries.filter((library) => readText(`libs/${library}/README.md`).split('\n').length > 90);
    expect(long).toEqual([]);
  });

  it('starts every app from a main.ts', () => {
    const missing = namesUnder(/^apps\/([^/]+)\//).filter((app) => !tracked.has(`apps/${app}/src/main.ts`));
    expect(missing).toEqual([]);
  });

  it('builds every app in nest-cli.json, which lists every app but the pages of the console', () => {
    const { projects } = JSON.parse(readText('nest-cli.json')) as { projects: Record<string, { sourceRoot: string }> };
    const processes = namesUnder(/^apps\/([^/]+)\//).filter((app) => app !== 'console');
    expect(Object.keys(projects).toSorted()).toEqual(processes.toSorted());
    for (const { sourceRoot } of Object.values(projects))
      expect(existsSync(join(root, sourceRoot, 'main.ts'))).toBe(true);
  });
});

describe('a modality', () => {
  const slices = namesUnder(/^libs\/modalities\/src\/([^/]+)\/contract\//);

  it('exists', () => expect(slices).toContain('chat'));

  it.each(slices)('%s has the files of a slice', (slice) => {
    // The files of a slice's main route lie in `api`, or in a folder of that route's name.
    const has = (file: string) =>
      [file, file.replace(/^api\//, `api/${slice}/`), file.replace(/^api\//, 'api/job/')].some((path) =>
        tracked.has(`libs/modalities/src/${slice}/${path}`),
      );
    // A slice with binary responses has no response DTO and no presenter.
    const isDescribed = slice !== 'speech';
    const required = [
      `contract/${slice}.request.ts`,
      ...(isDescribed ? [`contract/${slice}.response.ts`, `api/${slice}.presenter.ts`] : []),
      `contract/${slice}.job.ts`,
      `contract/${slice}.meter.ts`,
      `contract/${slice}.meter.spec.ts`,
      `api/${slice}.controller.ts`,
      `api/${slice}.normalizer.ts`,
      `worker/${slice}.processor.ts`,
    ];
    expect(required.filter((file) => !has(file))).toEqual([]);
  });

  it.each(slices)('%s has an end-to-end test', (slice) => {
    const specs = repositoryFiles.filter((path) => /^test\/e2e\/.*\.e2e-spec\.ts$/.test(path));
    expect(specs.filter((path) => readText(path).includes(slice))).not.toEqual([]);
  });

  // A job exists after `LimitedModelRequest` alone, which only `ModelRequest.limit` makes: its class is not exported, and
  // the rule `slices-admit-through-the-pipeline` keeps every other way to a job out of the slices.
  it.each(slices)('%s declares each of its routes that run a model as one that is held to its limits', (slice) => {
    const controllers = repositoryFiles.filter((path) =>
      new RegExp(`^libs/modalities/src/${slice}/api/(?:[^/]+/)?[^/]*[.]controller[.]ts$`).test(path),
    );
    const routes = controllers.flatMap((path) => readText(path).match(/@Post\('[^']*'\)(?:\n +@\w+\(.*\))*/g) ?? []);
    expect(routes).not.toEqual([]);
    const unlimited = routes.filter((route) => !route.includes('@ModelRoute('));
    expect(unlimited.filter((route) => !route.startsWith("@Post('quote')"))).toEqual([]);
  });

  it('reaches a job through the pipeline alone', () => {
    const exported = /export \{[^}]*\} from '.\/pipeline\/model-request.js';/.exec(
      readText('libs/gateway/src/index.ts'),
    );
    expect(exported?.[0]).toMatch(/\btype LimitedModelRequest\b/);
    expect(exported?.[0]).toMatch(/\btype ModelRequest\b/);
  });

  it.each(slices)('%s is in the catalog', (slice) => {
    expect(readText('libs/modalities/src/catalog.ts')).toMatch(new RegExp(`\\b${slice}\\b`));
  });
});

describe('a file', () => {
  const kebab = /^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9]+(-[a-z0-9]+)*)*\.(tsx?|mjs|cjs|css|sql|yaml)$/;
  const homeless = /((^|[.-])(utils?|helpers?)|(^|\.)(types|misc|common|constants))\.tsx?$/;

  it('is named in kebab-case', () => {
    const named = repositoryFiles.filter((path) =>
      /^(apps|libs|test|bench|scripts|models)\/.*\.(tsx?|mjs|cjs|css)$/.test(path),
    );
    expect(named.filter((path) => !kebab.test(basename(path)))).toEqual([]);
  });

  it('is named after its contents, not utils, helpers, types or misc', () => {
    expect(sources.filter((path) => homeless.test(basename(path)))).toEqual([]);
  });

  it('has at most 500 lines of production code, or 800 in a test', () => {
    const lines = (path: string) => readText(path).split('\n').length;
    const product = new Set(productSources);
    const large = sources.filter((path) => lines(path) > (product.has(path) ? 500 : 800));
    expect(large.map((path) => `${path}: ${lines(path)} lines`)).toEqual([]);
  });
});
