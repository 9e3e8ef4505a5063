import 'reflect-metadata';
import { loadConfig, LocalConfig } from '#platform/config';
import { runLocal } from './run-local.js';

process.exit(await runLocal(loadConfig(LocalConfig)));
