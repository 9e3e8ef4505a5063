import type { JSX } from 'preact';
import { priceLines } from './price-lines.js';

export function PriceList({ prices }: { prices: Record<string, unknown> | null }): JSX.Element {
  const lines = prices === null ? [] : priceLines(prices);
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
