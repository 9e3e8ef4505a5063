import 'reflect-metadata';
import { loadConfig, WorkerConfig } from '#platform/config';
import { reportFailure, surviveLostOutput } from '#platform/logging';

surviveLostOutput();
const config = loadConfig(WorkerConfig);
try {
  // Imported late, so that configuration errors are reported before anything else loads.
  const { runWorker } = await import('./run-worker.js');
  await runWorker(config);
  process.exit(0);
} catch (error) {
  reportFailure('worker', error);
  process.exit(1);
}
