import {
  Validate,
  ValidatorConstraint,
  type ValidationArguments,
  type ValidatorConstraintInterface,
} from '../validation/index.js';
import { CliConfig } from './cli.config.js';
import { ApiHostVariable, ApiPortVariable } from './shared.variables.js';
import { ListVariable, TextVariable } from './variable.js';

const bootstrapKey = {
  optional: true,
  pattern: /^slk_[A-Za-z0-9_-]{20,200}$/,
  expected: '`slk_` and 20 to 200 letters, digits, - or _',
  secret: true,
} as const;

/** A key is stored once and has one kind. */
@ValidatorConstraint({ name: 'bootstrapKeysDiffer' })
class BootstrapKeysDiffer implements ValidatorConstraintInterface {
  validate(_value: unknown, { object }: ValidationArguments): boolean {
    const { bootstrapAdminKey, bootstrapInferenceKey } = object as LocalConfig;
    return bootstrapAdminKey === undefined || bootstrapAdminKey !== bootstrapInferenceKey;
  }

  defaultMessage(): string {
    return 'SLUICE_BOOTSTRAP_ADMIN_KEY and SLUICE_BOOTSTRAP_INFERENCE_KEY are the same; expected two different keys.';
  }
}

/** `npm start`. The other processes get their environment from it. */
export class LocalConfig extends CliConfig {
  @ApiHostVariable()
  host!: string;

  @ApiPortVariable()
  port!: number;

  @TextVariable('SLUICE_POSTGRES_LISTEN', {
    about: 'Where workers on other machines reach the embedded PostgreSQL.',
    optional: true,
    pattern: /^[A-Za-z0-9.-]{1,255}:[1-9]\d{0,4}$/,
    expected: 'an address and a port, such as 10.0.0.1:5433',
  })
  postgresListen?: string;

  @ListVariable('SLUICE_MODELS', {
    about: 'Models to pull and serve: ids, sets or `none`; `all` serves everything installed and pulls nothing.',
    default: 'starter',
  })
  models!: string[];

  @TextVariable('SLUICE_BOOTSTRAP_CREDIT_USD', {
    about: 'Promotional credit of the first account; default: 100, or 0 when NODE_ENV is `production`.',
    optional: true,
    pattern: /^\d{1,9}(\.\d{1,9})?$/,
    expected: 'an amount of USD such as 100 or 0.5; 0 gives none',
  })
  bootstrapCreditUsd?: string;

  @TextVariable('NODE_ENV', {
    about: '`production` sets the default of SLUICE_BOOTSTRAP_CREDIT_USD to 0.',
    optional: true,
  })
  nodeEnv?: string;

  /** Credit of the first account, in USD. */
  get firstCreditUsd(): string {
    return this.bootstrapCreditUsd ?? (this.nodeEnv === 'production' ? '0' : '100');
  }

  @TextVariable('SLUICE_BOOTSTRAP_ADMIN_KEY', {
    about: 'Admin key of the first account; default: random.',
    ...bootstrapKey,
  })
  bootstrapAdminKey?: string;

  @TextVariable('SLUICE_BOOTSTRAP_INFERENCE_KEY', {
    about: 'Inference key of the first account; default: random.',
    ...bootstrapKey,
  })
  bootstrapInferenceKey?: string;

  /** Keys of the first account; random if absent. */
  @Validate(BootstrapKeysDiffer)
  get bootstrapKeys(): { adminKey?: string; inferenceKey?: string } {
    return { adminKey: this.bootstrapAdminKey, inferenceKey: this.bootstrapInferenceKey };
  }
}
