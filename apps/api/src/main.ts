import 'reflect-metadata';
import { ApiConfig, loadConfig } from '#platform/config';
import { runApi } from './run-api.js';

await runApi(loadConfig(ApiConfig));
process.exit(0);
