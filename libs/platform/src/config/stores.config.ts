import { QueueConfig } from './base.config.js';
import { OptionalDatabaseUrlVariable, PreviousSecretKeysVariable } from './shared.variables.js';
import { TextVariable } from './variable.js';

/** `sluice doctor --stores`: what api and ops are given, all of it optional. */
export class StoresConfig extends QueueConfig {
  @OptionalDatabaseUrlVariable()
  databaseUrl?: string;

  @TextVariable('SLUICE_SECRET_KEY', {
    about: 'Encrypts payloads of open jobs; the same for api and ops.',
    optional: true,
    pattern: /^[0-9a-f]{64}$/i,
    expected: '64 hex digits (32 bytes), as `openssl rand -hex 32` prints them',
    secret: true,
  })
  secretKey?: string;

  @PreviousSecretKeysVariable()
  previousSecretKeys!: string[];
}
