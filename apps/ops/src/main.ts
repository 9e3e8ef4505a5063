import 'reflect-metadata';
import { loadConfig, OpsConfig } from '#platform/config';
import { runOps } from './run-ops.js';

await runOps(loadConfig(OpsConfig));
process.exit(0);
