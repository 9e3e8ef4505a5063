import 'reflect-metadata';
import { loadConfig, OpsConfig } from '#platform/config';
import { reportFailure } from '#platform/logging';
import { runOps } from './run-ops.js';

try {
  await runOps(loadConfig(OpsConfig));
  process.exit(0);
} catch (error) {
  reportFailure('ops', error);
  process.exit(1);
}
