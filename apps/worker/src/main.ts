import 'reflect-metadata';
import { loadConfig, WorkerConfig } from '#platform/config';
import { reportFailure } from '#platform/logging';

const config = loadConfig(WorkerConfig);
try {
  // Only now: a bad environment is told at once, before everything else is loaded.
  const { runWorker } = await import('./run-worker.js');
  await runWorker(config);
  process.exit(0);
} catch (error) {
  reportFailure('worker', error);
  process.exit(1);
}
