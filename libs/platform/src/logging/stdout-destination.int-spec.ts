import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../../../', import.meta.url));

const program = `
  import { createLogger } from '#platform/logging';
  const logger = createLogger('orphan', { level: 'info' });
  logger.info('heard');
  process.stdin.once('end', () => {
    for (let count = 0; count < 100; count++) logger.info({ count }, 'nobody listens');
    process.exit(7);
  }).resume();
`;

it('lets a process exit whose log has no reader any more', async () => {
  const child = spawn(
    process.execPath,
    [
      '--conditions=sluice-source',
      '--import',
      './test/harness/run-source.mjs',
      '--input-type=module',
      '--eval',
      program,
    ],
    { cwd: root, stdio: ['pipe', 'pipe', 'inherit'] },
  );
  const ended = once(child, 'exit');
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  expect(line.toString()).toContain('heard');
  child.stdout.destroy();
  child.stdin.end();
  expect((await ended)[0]).toBe(7);
});
