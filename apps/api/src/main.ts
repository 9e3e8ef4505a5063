import 'reflect-metadata';
import { ApiConfig, loadConfig } from '#platform/config';
import { reportFailure } from '#platform/logging';
import { runApi } from './run-api.js';

try {
  await runApi(loadConfig(ApiConfig));
  process.exit(0);
} catch (error) {
  reportFailure('api', error);
  process.exit(1);
}
