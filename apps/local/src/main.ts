import 'reflect-metadata';
import { ApiConfig, loadConfig, LocalConfig, OpsConfig, warnOfComposeVariables, WorkerConfig } from '#platform/config';
import { surviveLostOutput } from '#platform/logging';

surviveLostOutput();
const config = loadConfig(LocalConfig, [ApiConfig, WorkerConfig, OpsConfig]);
warnOfComposeVariables();
// Imported late, so that configuration errors are reported before anything else loads.
const { runLocal } = await import('./run-local.js');
process.exit(await runLocal(config));
