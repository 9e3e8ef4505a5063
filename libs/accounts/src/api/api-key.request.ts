import { ChoiceField, ObjectField, TextField } from '#platform/http';
import type { ApiKeyKind, LimitPeriod, ModelPrivacy } from '../api-key.js';
import { ExpiryField } from './expiry.field.js';
import { ConsumptionLimit } from './key-limits.field.js';

const limitPeriods = ['EPOCH', 'MONTH', 'LIFETIME'] as const;
const modelPrivacies = ['ALL', 'PRIVATE_TEXT', 'PRIVATE_ONLY'] as const;
export const apiKeyKinds = ['INFERENCE', 'ADMIN'] as const;
export const descriptionLength = 64;

/** What a key may be told at any time. */
export class KeyLimitsRequest {
  @ObjectField(ConsumptionLimit, { description: 'What the key may spend in each period.' })
  consumptionLimit?: ConsumptionLimit;

  @ChoiceField(limitPeriods, {
    description: 'When limits start anew: each UTC day (`EPOCH`, the default), each UTC month, or never.',
  })
  limitPeriod?: LimitPeriod;

  @ChoiceField(modelPrivacies, {
    description: 'Which models the key may call: all, private ones where they read text, or private ones only.',
  })
  modelPrivacy?: ModelPrivacy;
}

/** Body of `POST /api_keys` (contract 10). */
export class CreateApiKeyRequest extends KeyLimitsRequest {
  @ChoiceField(apiKeyKinds, { required: true, description: '`ADMIN` manages the account, `INFERENCE` runs models.' })
  apiKeyType!: ApiKeyKind;

  @TextField({
    required: true,
    maxLength: descriptionLength,
    description: 'To tell keys apart.',
    example: 'Batch jobs',
  })
  description!: string;

  @ExpiryField({ description: 'When the key ends; empty or absent: never. A date is its first moment in UTC.' })
  expiresAt?: string;
}

/** Body of `PATCH /api_keys`: what it leaves out stays as it is. */
export class UpdateApiKeyRequest extends KeyLimitsRequest {
  @TextField({ required: true, description: 'Which key.', example: '5f6c1c0e-2f7b-4b5e-9f0a-3d1d0c7a2b11' })
  id!: string;

  @TextField({ maxLength: descriptionLength, description: 'To tell keys apart.' })
  description?: string;

  @ExpiryField({ nullable: true, description: 'When the key ends; empty or null: never.' })
  expiresAt?: string | null;
}

/** Body of `POST /api_keys/generate_web3_key`. */
export class CreateWeb3KeyRequest extends KeyLimitsRequest {
  @ChoiceField(apiKeyKinds, { required: true, description: '`ADMIN` manages the account, `INFERENCE` runs models.' })
  apiKeyType!: ApiKeyKind;

  @TextField({ required: true, description: 'The wallet.', example: '0x52908400098527886E0F7030069857D2E4169EE7' })
  address!: string;

  @TextField({ required: true, description: 'The token, signed by the wallet with `personal_sign` (EIP-191).' })
  signature!: string;

  @TextField({
    required: true,
    description: 'From `GET /api_keys/generate_web3_key`; good for 15 minutes and one key.',
  })
  token!: string;

  @TextField({ maxLength: descriptionLength, default: 'Web3 API Key', description: 'To tell keys apart.' })
  description?: string;

  @ExpiryField({ description: 'When the key ends; empty or absent: never.' })
  expiresAt?: string;
}
