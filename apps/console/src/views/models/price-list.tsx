import type { JSX } from 'preact';
import { priceLines } from './price-lines.js';

interface PriceListProps {
  prices: Record<string, unknown> | null;
  /** Of the model. */
  type: string;
}

export function PriceList({ prices, type }: PriceListProps): JSX.Element {
  const lines = prices === null ? [] : priceLines(prices, type);
  if (lines.length === 0) return <>free</>;
  return (
    <ul class="plain-list">
      {lines.map(([name, amount]) => (
        <li key={name}>
          {name.replaceAll('_', ' ')} {amount}
        </li>
      ))}
    </ul>
  );
}
