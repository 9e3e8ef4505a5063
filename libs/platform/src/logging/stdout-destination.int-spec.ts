import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../../../', import.meta.url));

const log = `
  import { createLogger } from '#platform/logging';
  const logger = createLogger('orphan', { level: 'info' });
  logger.info('heard');
  const say = (count) => logger.info({ count }, 'nobody listens');
`;

const text = `
  import { surviveLostOutput } from '#platform/logging';
  surviveLostOutput();
  process.stdout.write('heard');
  const say = (count) => [process.stdout, process.stderr].forEach((stream) => stream.write(count + ' nobody reads'));
`;

const ending = `
  process.stdin.once('end', async () => {
    for (let count = 0; count < 100; count++) {
      say(count);
      await new Promise(setImmediate);
    }
    process.exit(7);
  }).resume();
`;

it.each([
  ['log', log],
  ['output', text],
])('lets a process go on and exit whose %s has no reader any more', async (_name, program) => {
  const child = spawn(
    process.execPath,
    [
      '--conditions=sluice-source',
      '--import',
      './test/harness/run-source.mjs',
      '--input-type=module',
      '--eval',
      program + ending,
    ],
    { cwd: root, stdio: ['pipe', 'pipe', 'pipe'] },
  );
  const ended = once(child, 'exit');
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  expect(line.toString()).toContain('heard');
  child.stdout.destroy();
  child.stderr.destroy();
  child.stdin.end();
  expect((await ended)[0]).toBe(7);
});
