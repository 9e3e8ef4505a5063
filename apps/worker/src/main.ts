import 'reflect-metadata';
import { loadConfig, WorkerConfig } from '#platform/config';
import { createLogger } from '#platform/logging';
import { runWorker } from './run-worker.js';

try {
  await runWorker(loadConfig(WorkerConfig));
  process.exit(0);
} catch (error) {
  createLogger('worker').fatal({ error }, 'the worker could not go on');
  process.exit(1);
}
