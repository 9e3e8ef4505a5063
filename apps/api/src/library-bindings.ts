import { ApiKeysService } from '#accounts';
import { LedgerService } from '#billing';
import { displayNanos } from '#common';
import { MediaTools, needsFfmpeg } from '#media';
import {
  CompatibleNames,
  MembershipOnlineModels,
  ModelRegistryService,
  type OutputFormats,
  type WebProviders,
} from '#model-registry';
import type { ModelManifest } from '#model-registry/manifest';
import { ApiConfig } from '#platform/config';
import { Injectable } from '#platform/injection';
import { QueueTransport } from '#queue';
import type { LimitedCaller } from '#rate-limit';
import { LimitFacts } from '#rate-limit/api';
import { WebSearch } from '#web';

/** The facts of accounts, ledger and registry beside the limits of a caller. */
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

/** The names of hosted models that the operator of this installation lets clients use. */
@Injectable()
export class ConfiguredNames extends CompatibleNames {
  constructor({ compatibleNames }: ApiConfig) {
    super(compatibleNames);
  }
}

/** The search of the web that the operator of this installation has configured. */
@Injectable()
export class ConfiguredWeb implements WebProviders {
  constructor(private readonly search: WebSearch) {}

  get canSearch(): boolean {
    return this.search.isConfigured;
  }

  hasProvider(name: string): boolean {
    return this.search.hasProvider(name);
  }
}

/** The formats of audio that the media tools of this installation can make. */
@Injectable()
export class MediaFormats implements OutputFormats {
  constructor(private readonly tools: MediaTools) {}

  canMake(format: string): boolean {
    if (!needsFfmpeg(format)) return true;
    // A tool that is installed meanwhile counts from the next request on.
    if (!this.tools.available) void this.tools.refresh();
    return this.tools.available;
  }
}

/** The models that some worker serves, by the heartbeats on the bus of the queue. */
@Injectable()
export class TransportOnlineModels extends MembershipOnlineModels {
  constructor({ membership }: QueueTransport) {
    super(() => membership.list());
  }
}
