import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { readText, repositoryFiles, root } from './repository-files.js';

/* Files that only GitHub reads: what they name exists here. */

interface Workflow {
  on: Record<string, unknown>;
  permissions: Record<string, string>;
  jobs: Record<string, Job>;
}
interface Job {
  steps: { run?: string; uses?: string; with?: Record<string, unknown> }[];
  needs?: string[];
  permissions?: Record<string, string>;
  strategy?: { matrix: { node: string[] } };
}
interface IssueForm {
  name: string;
  description: string;
  body: { type: string; id?: string; attributes: { label?: string; options?: unknown[] } }[];
}

const workflows = repositoryFiles.filter((path) => path.startsWith('.github/workflows/'));
const forms = repositoryFiles.filter((path) => /^\.github\/ISSUE_TEMPLATE\/(?!config)/.test(path));
const read = (path: string) => parse(readText(path)) as Workflow;

describe('a workflow', () => {
  it('exists for every push', () => expect(workflows).toContain('.github/workflows/ci.yml'));

  it.each(workflows)('%s may only read, and runs programs of this repository', (path) => {
    const { permissions, jobs } = read(path);
    expect(permissions).toEqual({ contents: 'read' });
    const commands = Object.values(jobs).flatMap(({ steps }) => steps.flatMap(({ run }) => run ?? []));
    const programs = commands.flatMap((command) => /^(?:node )?((?:\.ci|scripts)\/\S+)/.exec(command)?.[1] ?? []);
    expect(programs.filter((program) => !repositoryFiles.includes(program))).toEqual([]);
    const mayRelease = path.endsWith('/release.yml') ? '|gh release create|npm publish' : '';
    const known = new RegExp(`^(node scripts|\\.ci/run$|npm (ci|run|test)\\b|git config${mayRelease})`);
    const others = commands.filter((command) => !known.test(command));
    expect(others).toEqual([]);
  });

  it.each(workflows)('%s gives more than reading only to the job that releases', (path) => {
    const writing = Object.entries(read(path).jobs).flatMap(([name, { permissions }]) => (permissions ? [name] : []));
    expect(writing).toEqual(path.endsWith('/release.yml') ? ['release'] : []);
  });

  it('releases what every check has passed, with provenance, a bill of materials and checksums', () => {
    const { checks, package: packages, release } = read('.github/workflows/release.yml').jobs;
    const commandsOf = (job: Job | undefined) => job?.steps.flatMap(({ run }) => run ?? []) ?? [];
    expect(commandsOf(checks)).toContain('.ci/run');
    expect(commandsOf(packages)).toContain('npm test -- package');
    expect(packages?.strategy).toEqual(read('.github/workflows/ci.yml').jobs.node?.strategy);
    expect(release?.needs).toEqual(['checks', 'package']);
    expect(release?.permissions).toEqual({ contents: 'write', 'id-token': 'write', attestations: 'write' });
    const attested = release?.steps.flatMap(({ uses, with: inputs }) =>
      uses?.startsWith('actions/attest-') ? { uses, inputs } : [],
    );
    expect(attested).toEqual([
      {
        uses: expect.stringMatching(/^actions\/attest-build-provenance@v\d+$/),
        inputs: { 'subject-checksums': 'dist/release/SHA256SUMS' },
      },
      {
        uses: expect.stringMatching(/^actions\/attest-sbom@v\d+$/),
        inputs: { 'subject-path': 'dist/release/*.tgz', 'sbom-path': '${{ steps.files.outputs.bill }}' },
      },
    ]);
    expect(commandsOf(release).find((command) => command.startsWith('npm publish'))).toContain('--provenance');
  });

  it('refuses a tag of another version', () => {
    const { status, stderr } = spawnSync(process.execPath, ['scripts/release.mjs', '--tag', 'v99.0.0'], {
      cwd: root,
      encoding: 'utf8',
    });
    expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringContaining('The tag v99.0.0 is not v') });
  });

  it('checks and tests on each major version of Node that package.json allows', () => {
    const { engines } = JSON.parse(readText('package.json')) as { engines: { node: string } };
    const allowed = [...engines.node.matchAll(/(\d+)\.\d+\.\d+/g)].map(([, major]) => major);
    const tested = read('.github/workflows/ci.yml').jobs.node?.strategy?.matrix.node ?? [];
    expect(tested.map((version) => version.split('.')[0])).toEqual(allowed);
    expect(allowed).toContain(readText('.nvmrc').trim());
    const commands = read('.github/workflows/ci.yml').jobs.node?.steps.flatMap(({ run }) => run ?? []);
    expect(commands).toContain('npm test -- package');
  });
});

describe('an issue form', () => {
  it.each(forms)('%s has fields with labels and different ids', (path) => {
    const { name, description, body } = parse(readText(path)) as IssueForm;
    expect([name, description].every((text) => text.length > 0)).toBe(true);
    const fields = body.filter(({ type }) => type !== 'markdown');
    expect(fields.every(({ id, attributes }) => id !== undefined && attributes.label !== undefined)).toBe(true);
    expect(new Set(fields.map(({ id }) => id)).size).toBe(fields.length);
  });
});

describe('a page at the root', () => {
  it.each(['AGENTS.md', 'CODE_OF_CONDUCT.md', 'SECURITY.md', '.editorconfig', '.devcontainer/devcontainer.json'])(
    '%s exists',
    (path) => expect(repositoryFiles).toContain(path),
  );

  it('CONTRIBUTING.md has at most 900 words, and the scope 300', () => {
    const words = (path: string) => readText(path).match(/[\p{L}\p{N}][^\s|]*/gu)?.length ?? 0;
    expect(words('CONTRIBUTING.md')).toBeLessThanOrEqual(900);
    expect(words('docs/contribute/scope.md')).toBeLessThanOrEqual(300);
  });
});
