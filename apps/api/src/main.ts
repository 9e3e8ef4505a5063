import 'reflect-metadata';
import { ApiConfig, loadConfig } from '#platform/config';
import { reportFailure, surviveLostOutput } from '#platform/logging';

surviveLostOutput();
const config = loadConfig(ApiConfig);
try {
  // Imported late, so that configuration errors are reported before anything else loads.
  const { runApi } = await import('./run-api.js');
  await runApi(config);
  process.exit(0);
} catch (error) {
  reportFailure('api', error);
  process.exit(1);
}
