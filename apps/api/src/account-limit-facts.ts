import { Injectable } from '@nestjs/common';
import { ApiKeysService } from '#accounts';
import { LedgerService } from '#billing';
import { displayNanos } from '#common';
import { ModelRegistryService } from '#model-registry';
import type { ModelManifest } from '#model-registry/manifest';
import type { LimitedCaller } from '#rate-limit';
import { LimitFacts } from '#rate-limit/api';

/** What accounts, ledger and registry say beside the limits of a caller. */
@Injectable()
export class AccountLimitFacts extends LimitFacts {
  constructor(
    private readonly ledger: LedgerService,
    private readonly apiKeys: ApiKeysService,
    private readonly registry: ModelRegistryService,
  ) {
    super();
  }

  async balances(accountId: string): Promise<{ USD: number; DIEM: number }> {
    const { diemNano, usdNano, bundledNano } = await this.ledger.balance(accountId);
    return { USD: displayNanos(usdNano + bundledNano, 6), DIEM: displayNanos(diemNano, 6) };
  }

  async keyExpiration({ accountId, apiKeyId }: LimitedCaller): Promise<Date | null> {
    return (await this.apiKeys.find(accountId, apiKeyId)).record.expiresAt;
  }

  async models(): Promise<ModelManifest[]> {
    const listed = new Set((await this.registry.list('all')).map(({ id }) => id));
    return (await this.registry.inventory()).map(({ manifest }) => manifest).filter(({ id }) => listed.has(id));
  }
}
