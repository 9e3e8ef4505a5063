import { type Clock, PlatformError, systemClock } from '#common';
import { Injectable, Optional } from '#platform/injection';
import { PriceRepository } from './price.repository.js';
import type { ModelPrice } from './model-price.js';

const reuseMs = 5_000;

/** Returns today's prices. One read of all prices is cached for 5 s. */
@Injectable()
export class PriceList {
  private prices = new Map<string, ModelPrice>();
  private readAtMs = -Infinity;
  private reading: Promise<void> | undefined;

  constructor(
    private readonly repository: PriceRepository,
    @Optional() private readonly clock: Clock = systemClock,
  ) {}

  /** Rejects with `SERVICE_UNAVAILABLE` when prices cannot be read: nothing runs at an unknown price. */
  async current(modelId: string): Promise<ModelPrice> {
    const isOld = this.clock.monotonicMs() - this.readAtMs >= reuseMs;
    if (isOld || !this.prices.has(modelId)) await this.refresh();
    const price = this.prices.get(modelId);
    if (!price) {
      throw new PlatformError('SERVICE_UNAVAILABLE', `The model ${modelId} has no price.`, 'model', { retry: 'never' });
    }
    return price;
  }

  private async refresh(): Promise<void> {
    this.reading ??= this.read().finally(() => (this.reading = undefined));
    try {
      await this.reading;
    } catch (cause) {
      throw new PlatformError('SERVICE_UNAVAILABLE', 'The service cannot read its prices.', null, { cause });
    }
  }

  private async read(): Promise<void> {
    const startedMs = this.clock.monotonicMs();
    const prices = await this.repository.current();
    this.prices = new Map(prices.map((price) => [price.modelId, price]));
    this.readAtMs = startedMs;
  }
}
