import 'reflect-metadata';
import { loadConfig, WorkerConfig } from '#platform/config';
import { reportFailure } from '#platform/logging';
import { runWorker } from './run-worker.js';

try {
  await runWorker(loadConfig(WorkerConfig));
  process.exit(0);
} catch (error) {
  reportFailure('worker', error);
  process.exit(1);
}
