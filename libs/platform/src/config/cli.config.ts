import { BaseConfig } from './base.config.js';
import { ProvidersVariable } from './shared.variables.js';
import { TextVariable } from './variable.js';

export class CliConfig extends BaseConfig {
  @TextVariable('DATABASE_URL', {
    about: 'PostgreSQL server that holds the truth; default: the one `npm start` runs for this home.',
    optional: true,
    pattern: /^postgres(ql)?:\/\/.+/,
    expected: 'a URL such as postgresql://user:password@host:5432/database',
    secret: true,
  })
  databaseUrl?: string;

  @TextVariable('HF_ENDPOINT', {
    about: 'Server that speaks the API of the model hub, for `hf:` sources.',
    optional: true,
    pattern: /^https?:\/\/.+/,
    expected: 'an http or https URL',
  })
  hubEndpoint?: string;

  @TextVariable('HF_TOKEN', { about: 'Token for `hf:` sources that ask for one.', optional: true, secret: true })
  hubToken?: string;

  @ProvidersVariable()
  providers!: string[];
}
