import { decimalOf, formatMoney } from '../../format/money.js';

/** Returns the prices of a model as names and amounts: `input.usd` of 0.1 is `input` and `$0.10`. */
export function priceLines(prices: Record<string, unknown>, prefix = ''): [string, string][] {
  return Object.entries(prices).flatMap(([name, value]): [string, string][] => {
    const path = prefix === '' ? name : `${prefix} ${name}`;
    if (typeof value !== 'object' || value === null) return [];
    const { usd } = value as { usd?: unknown };
    const inner = priceLines(value as Record<string, unknown>, path);
    if (typeof usd === 'number') return [[path, formatMoney(decimalOf(usd))], ...inner];
    if (typeof usd === 'string') return [[path, formatMoney(usd)], ...inner];
    return inner;
  });
}
