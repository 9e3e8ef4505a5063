import { Matches } from '../validation/index.js';
import { QueueConfig } from './base.config.js';
import { ListVariable, TextVariable } from './variable.js';

/** `sluice doctor --stores`: what api and ops are given, all of it optional. */
export class StoresConfig extends QueueConfig {
  @TextVariable('DATABASE_URL', {
    about: 'The PostgreSQL database; default: the one `npm start` runs for this `SLUICE_HOME`.',
    optional: true,
    pattern: /^postgres(ql)?:\/\/.+/,
    expected: 'a URL such as postgresql://user:password@host:5432/database',
    secret: true,
  })
  databaseUrl?: string;

  @TextVariable('SLUICE_SECRET_KEY', {
    about: 'Encrypts payloads of open jobs in the database; the same for api and ops.',
    optional: true,
    pattern: /^[0-9a-f]{64}$/i,
    expected: '64 hex digits (32 bytes), as `openssl rand -hex 32` prints them',
    secret: true,
  })
  secretKey?: string;

  @ListVariable('SLUICE_PREVIOUS_SECRET_KEYS', {
    about: 'Further keys that open what the database holds and links that were signed, while the key is changed.',
    default: '',
    expected: 'keys of 64 hex digits separated by commas',
    secret: true,
  })
  @Matches(/^[0-9a-f]{64}$/i, { each: true })
  previousSecretKeys!: string[];
}
