import { ChoiceField, ObjectField, TextField } from '#platform/http';
import type { ApiKeyKind, LimitPeriod, ModelPrivacy } from '../api-key.js';
import { ExpiryField } from './expiry.field.js';
import { ConsumptionLimit } from './key-limits.field.js';

const limitPeriods = ['EPOCH', 'MONTH', 'LIFETIME'] as const;
const modelPrivacies = ['ALL', 'PRIVATE_TEXT', 'PRIVATE_ONLY'] as const;
export const apiKeyKinds = ['INFERENCE', 'ADMIN'] as const;
export const descriptionLength = 64;

/** Fields of a key that can be set at any time. */
export class KeyLimitsRequest {
  @ObjectField(ConsumptionLimit, { description: 'Spending limit of the key per period.' })
  consumptionLimit?: ConsumptionLimit;

  @ChoiceField(limitPeriods, {
    description: 'When limits reset: each UTC day (`EPOCH`, the default), each UTC month, or never.',
  })
  limitPeriod?: LimitPeriod;

  @ChoiceField(modelPrivacies, {
    description: 'Which models the key may call: all, private ones for text, or private ones only.',
  })
  modelPrivacy?: ModelPrivacy;
}

/** Body of `POST /api_keys`. */
export class CreateApiKeyRequest extends KeyLimitsRequest {
  @ChoiceField(apiKeyKinds, { required: true, description: '`ADMIN` manages the account, `INFERENCE` runs models.' })
  apiKeyType!: ApiKeyKind;

  @TextField({
    required: true,
    maxLength: descriptionLength,
    description: 'A label for the key.',
    example: 'Batch jobs',
  })
  description!: string;

  @ExpiryField({ description: 'When the key expires; empty or absent: never. A date means its first moment in UTC.' })
  expiresAt?: string;
}

/** Body of `PATCH /api_keys`; omitted fields keep their values. */
export class UpdateApiKeyRequest extends KeyLimitsRequest {
  @TextField({ required: true, description: 'Which key.', example: '5f6c1c0e-2f7b-4b5e-9f0a-3d1d0c7a2b11' })
  id!: string;

  @TextField({ maxLength: descriptionLength, description: 'A label for the key.' })
  description?: string;

  @ExpiryField({ nullable: true, description: 'When the key expires; empty or null: never.' })
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
    description: 'From `GET /api_keys/generate_web3_key`; valid for 15 minutes and one key.',
  })
  token!: string;

  @TextField({ maxLength: descriptionLength, default: 'Web3 API Key', description: 'A label for the key.' })
  description?: string;

  @ExpiryField({ description: 'When the key expires; empty or absent: never.' })
  expiresAt?: string;
}
