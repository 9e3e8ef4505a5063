import { createHmac } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { deriveKey } from '#common';
import { ApiConfig } from '#platform/config';
import type { RequestCaller } from '#platform/http';

/** Labels the requests that may copy each other's cached prefixes: those of one account, or all. */
@Injectable()
export class CacheScopes {
  private readonly key: Buffer;

  constructor(private readonly config: ApiConfig) {
    this.key = deriveKey(config.secretKey, 'prefix cache scopes');
  }

  /** Returns 128 bits in hexadecimal. Workers learn from it which jobs belong together, and not to whom. */
  labelOf(caller: Pick<RequestCaller, 'accountId'>): string {
    return this.config.prefixCacheScope === 'account' ? this.accountLabelOf(caller) : this.hashed('installation');
  }

  /** As `labelOf`, of the account wherever prefixes are shared. */
  accountLabelOf({ accountId }: Pick<RequestCaller, 'accountId'>): string {
    return this.hashed(`account ${accountId}`);
  }

  private hashed(scope: string): string {
    return createHmac('sha256', this.key).update(scope).digest('hex').slice(0, 32);
  }
}
