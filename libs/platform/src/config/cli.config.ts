import { BaseConfig } from './base.config.js';
import { ProvidersVariable } from './shared.variables.js';
import { TextVariable } from './variable.js';

export class CliConfig extends BaseConfig {
  @TextVariable('DATABASE_URL', {
    about: 'The PostgreSQL database; default: the one `npm start` runs for this `SLUICE_HOME`.',
    optional: true,
    pattern: /^postgres(ql)?:\/\/.+/,
    expected: 'a URL such as postgresql://user:password@host:5432/database',
    secret: true,
  })
  databaseUrl?: string;

  @TextVariable('HF_ENDPOINT', {
    about: 'Model hub for `hf:` sources; default: Hugging Face.',
    optional: true,
    pattern: /^https?:\/\/.+/,
    expected: 'an http or https URL',
  })
  hubEndpoint?: string;

  @TextVariable('HF_TOKEN', { about: 'Access token for `hf:` sources.', optional: true, secret: true })
  hubToken?: string;

  @ProvidersVariable()
  providers!: string[];
}
