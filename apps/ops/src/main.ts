import 'reflect-metadata';
import { loadConfig, OpsConfig } from '#platform/config';
import { reportFailure } from '#platform/logging';

const config = loadConfig(OpsConfig);
try {
  // Only now: a bad environment is told at once, before everything else is loaded.
  const { runOps } = await import('./run-ops.js');
  await runOps(config);
  process.exit(0);
} catch (error) {
  reportFailure('ops', error);
  process.exit(1);
}
