import 'reflect-metadata';
import { loadConfig, OpsConfig } from '#platform/config';
import { reportFailure, surviveLostOutput } from '#platform/logging';

surviveLostOutput();
const config = loadConfig(OpsConfig);
try {
  // Imported late, so that configuration errors are reported before anything else loads.
  const { runOps } = await import('./run-ops.js');
  await runOps(config);
  process.exit(0);
} catch (error) {
  reportFailure('ops', error);
  process.exit(1);
}
