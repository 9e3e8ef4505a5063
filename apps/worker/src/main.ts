import 'reflect-metadata';
import { loadConfig, WorkerConfig } from '#platform/config';
import { runWorker } from './run-worker.js';

await runWorker(loadConfig(WorkerConfig));
process.exit(0);
