import { spawnSync } from 'node:child_process';

/** Returns the promtool command: `PROMTOOL`, or the one on the PATH. Without one, prints a message and exits with 2. */
export function requirePromtool(purpose) {
  const promtool = process.env.PROMTOOL ?? 'promtool';
  if (spawnSync(promtool, ['--version']).status === 0) return promtool;
  console.error(
    `promtool, which ${purpose}, is not on the PATH (Debian: apt-get install --no-install-recommends prometheus; or PROMTOOL).`,
  );
  process.exit(2);
}
