import 'reflect-metadata';
import { ApiConfig, loadConfig, LocalConfig, OpsConfig, WorkerConfig } from '#platform/config';
import { runLocal } from './run-local.js';

process.exit(await runLocal(loadConfig(LocalConfig, [ApiConfig, WorkerConfig, OpsConfig])));
