import 'reflect-metadata';
import { fileURLToPath } from 'node:url';
import { forkHost } from '#inference/host';
import { loadConfig, WorkerConfig } from '#platform/config';
import { runWorker } from '../../apps/worker/src/run-worker.js';

/*
 * Entry of a worker whose hosts run the deterministic test engine. Process, configuration, queue and lifecycle are
 * those of the product; only the model host is a test double.
 */
const modulePath = fileURLToPath(new URL('./deterministic-host.js', import.meta.url));
await runWorker(loadConfig(WorkerConfig), { launch: forkHost({ modulePath }) });
process.exit(0);
