import 'reflect-metadata';
import { ApiConfig, loadConfig, LocalConfig, OpsConfig, WorkerConfig } from '#platform/config';

const config = loadConfig(LocalConfig, [ApiConfig, WorkerConfig, OpsConfig]);
// Only now: a bad environment is told at once, before everything else is loaded.
const { runLocal } = await import('./run-local.js');
process.exit(await runLocal(config));
