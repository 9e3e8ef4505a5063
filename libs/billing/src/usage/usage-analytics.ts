import type { NanoUsd } from '#common';
import type { KeyName, UsageSum } from './usage-analytics.repository.js';
import { type AnalyticsModelType, analyticsModelType, partOf, type UnitType, unitOf } from './usage-unit.js';

/** Amounts spent; bundled credits count as USD. */
export interface Spend {
  usdNano: NanoUsd;
  diemNano: NanoUsd;
}

export interface DatedSpend extends Spend {
  date: string;
}

export interface ModelPartUsage extends Spend {
  type: string;
  units: number;
}

export interface ModelUsage extends Spend {
  modelName: string;
  unitType: UnitType;
  modelType: AnalyticsModelType | null;
  units: number;
  parts: ModelPartUsage[];
}

export interface KeyUsageTotals extends Spend {
  apiKeyId: string | null;
  /** Distinguishes the key from all others in the response. */
  name: string;
  units: number;
}

/** DIEM of one day by name. */
export interface DailySeries {
  date: string;
  diemByName: Map<string, NanoUsd>;
}

/** An account's spending in a range of days, by day, model and key; the highest spend comes first. */
export interface UsageAnalytics {
  byDate: DatedSpend[];
  byModel: ModelUsage[];
  byModelDaily: DailySeries[];
  topModels: string[];
  byKey: KeyUsageTotals[];
  byKeyDaily: DailySeries[];
  topKeyNames: string[];
}

const maxTopNames = 8;

function totalOf({ usdNano, diemNano }: Spend): NanoUsd {
  return usdNano + diemNano;
}

function addTo(spend: Spend, { isDiem, amountNano }: UsageSum): void {
  if (isDiem) spend.diemNano += amountNano;
  else spend.usdNano += amountNano;
}

function bySpend<Item extends Spend>(items: Iterable<Item>, nameOf: (item: Item) => string): Item[] {
  return [...items].toSorted((left, right) => {
    const difference = totalOf(right) - totalOf(left);
    if (difference !== 0n) return difference > 0n ? 1 : -1;
    return nameOf(left) < nameOf(right) ? -1 : 1;
  });
}

/** Groups the aggregates of one level by name. */
function gather<Item>(
  sums: readonly UsageSum[],
  nameOf: (sum: UsageSum) => string,
  make: (sum: UsageSum) => Item,
  add: (item: Item, sum: UsageSum) => void,
): Map<string, Item> {
  const items = new Map<string, Item>();
  for (const sum of sums) {
    const name = nameOf(sum);
    const item = items.get(name) ?? make(sum);
    items.set(name, item);
    add(item, sum);
  }
  return items;
}

/** Combines the aggregates of the repository. `dates` are all days of the range: days without usage show zero. */
export class AnalyticsBuilder {
  private readonly keyNames: Map<string | null, string>;

  constructor(
    private readonly sums: readonly UsageSum[],
    private readonly dates: readonly string[],
    private readonly modelTypes: ReadonlyMap<string, string>,
    keys: readonly KeyName[],
  ) {
    this.keyNames = distinctNames(keys);
  }

  build(): UsageAnalytics {
    const byModel = this.byModel();
    const byKey = this.byKey();
    const topModels = byModel.slice(0, maxTopNames).map(({ modelName }) => modelName);
    const topKeyNames = byKey.slice(0, maxTopNames).map(({ name }) => name);
    return {
      byDate: this.byDate(),
      byModel,
      byModelDaily: this.daily('model-date', topModels, ({ modelId }) => modelId ?? ''),
      topModels,
      byKey,
      byKeyDaily: this.daily('key-date', topKeyNames, (sum) => this.nameOfKey(sum)),
      topKeyNames,
    };
  }

  private level(level: UsageSum['level']): UsageSum[] {
    return this.sums.filter((sum) => sum.level === level);
  }

  private nameOfKey({ apiKeyId }: UsageSum): string {
    return this.keyNames.get(apiKeyId) ?? apiKeyId ?? 'without a key';
  }

  private unitsOf({ sku, units, modelId }: UsageSum): { unitType: UnitType; count: number } {
    const { unitType, scale } = unitOf(sku ?? '', this.modelTypes.get(modelId ?? ''));
    // Units have nine decimals; whole tokens stay whole.
    return { unitType, count: Number((Number(units) * scale).toFixed(6)) };
  }

  private byDate(): DatedSpend[] {
    const found = gather(
      this.level('date'),
      ({ date }) => date ?? '',
      ({ date }) => ({ date: date ?? '', usdNano: 0n, diemNano: 0n }),
      addTo,
    );
    return this.dates.map((date) => found.get(date) ?? { date, usdNano: 0n, diemNano: 0n });
  }

  private byModel(): ModelUsage[] {
    const models = gather(
      this.level('model'),
      ({ modelId }) => modelId ?? '',
      (sum) => this.emptyModel(sum),
      (model, sum) => this.addToModel(model, sum),
    );
    return bySpend(models.values(), ({ modelName }) => modelName).map((model) => ({
      ...model,
      parts: bySpend(model.parts, ({ type }) => type),
    }));
  }

  private emptyModel(sum: UsageSum): ModelUsage {
    const modelName = sum.modelId ?? '';
    const modelType = analyticsModelType(this.modelTypes.get(modelName));
    const { unitType } = this.unitsOf(sum);
    return { modelName, unitType, modelType, usdNano: 0n, diemNano: 0n, units: 0, parts: [] };
  }

  private addToModel(model: ModelUsage, sum: UsageSum): void {
    const { unitType, count } = this.unitsOf(sum);
    const type = partOf(sum.sku ?? '', model.modelName);
    const part = model.parts.find((known) => known.type === type) ?? { type, usdNano: 0n, diemNano: 0n, units: 0 };
    if (!model.parts.includes(part)) model.parts.push(part);
    part.units += count;
    addTo(part, sum);
    addTo(model, sum);
    // Seconds and images of one model do not add up; its own unit does.
    if (unitType === model.unitType) model.units += count;
  }

  private byKey(): KeyUsageTotals[] {
    const keys = gather(
      this.level('key'),
      ({ apiKeyId }) => apiKeyId ?? '',
      (sum): KeyUsageTotals => ({
        apiKeyId: sum.apiKeyId,
        name: this.nameOfKey(sum),
        usdNano: 0n,
        diemNano: 0n,
        units: 0,
      }),
      (key, sum) => {
        addTo(key, sum);
        key.units += this.unitsOf(sum).count;
      },
    );
    return bySpend(keys.values(), ({ name }) => name);
  }

  private daily(level: UsageSum['level'], names: string[], nameOf: (sum: UsageSum) => string): DailySeries[] {
    const spent = gather(
      this.level(level).filter(({ isDiem }) => isDiem),
      (sum) => `${sum.date ?? ''} ${nameOf(sum)}`,
      () => ({ diemNano: 0n }),
      (sum, { amountNano }) => (sum.diemNano += amountNano),
    );
    return this.dates.map((date) => ({
      date,
      diemByName: new Map(names.map((name) => [name, spent.get(`${date} ${name}`)?.diemNano ?? 0n])),
    }));
  }
}

/**
 * Returns descriptions, with the end of the key appended where a description is empty, not unique, or equals the time
 * column of a series.
 */
export function distinctNames(keys: readonly KeyName[]): Map<string | null, string> {
  const counts = new Map<string, number>();
  for (const { description } of keys) counts.set(description, (counts.get(description) ?? 0) + 1);
  return new Map(
    keys.map(({ id, description, last6 }) => {
      const unclear = description === '' || description === 'date' || (counts.get(description) ?? 0) > 1;
      return [id, unclear ? `${description} (…${last6})`.trimStart() : description];
    }),
  );
}
