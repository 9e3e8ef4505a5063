import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that take a minute or more although they are small. */
const slow = [
  'libs/queue/src/redis-transport.int-spec.ts',
  'libs/queue/src/postgres-transport.int-spec.ts',
  'test/simulation/simulation.int-spec.ts',
  'test/e2e/faults.e2e-spec.ts',
  'apps/local/src/local.e2e-spec.ts',
  'test/e2e/images.e2e-spec.ts',
  'test/e2e/e2ee.e2e-spec.ts',
  'test/e2e/bad-start.e2e-spec.ts',
  'test/e2e/rate-limits.e2e-spec.ts',
  'test/faults/f01-worker-killed.fault-spec.ts',
];

/**
 * Without the cache of an earlier run vitest starts the largest files first. These would run last, with one worker
 * idle.
 */
export class SlowFirstSequencer extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const projects = [...new Set(sorted.map(({ project }) => project.name))];
    return projects.flatMap((name) => {
      const own = sorted.filter(({ project }) => project.name === name);
      const first = slow.flatMap((path) => own.filter(({ moduleId }) => moduleId.endsWith(`/${path}`)));
      return [...first, ...own.filter((file) => !first.includes(file))];
    });
  }
}
