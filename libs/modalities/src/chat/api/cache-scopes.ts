import { createHmac } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { deriveKey } from '#common';
import { ApiConfig } from '#platform/config';
import type { RequestCaller } from '#platform/http';

/** Labels the requests that may copy each other's cached prefixes: those of one account, or all. */
@Injectable()
export class CacheScopes {
  private readonly key: Buffer;

  constructor(@Inject(ApiConfig) private readonly config: Pick<ApiConfig, 'secretKey' | 'prefixCacheScope'>) {
    this.key = deriveKey(config.secretKey, 'prefix cache scopes');
  }

  /** Returns 128 bits in hexadecimal. Workers learn from it which jobs belong together, and not to whom. */
  labelOf({ accountId }: Pick<RequestCaller, 'accountId'>): string {
    const scope = this.config.prefixCacheScope === 'account' ? `account ${accountId}` : 'installation';
    return createHmac('sha256', this.key).update(scope).digest('hex').slice(0, 32);
  }
}
