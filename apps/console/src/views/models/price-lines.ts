import { decimalOf, formatMoney } from '../../format/money.js';

const perToken = '1M tokens';
/** The unit that a price of a type of models is for. A name such as `per_audio_second` says it itself. */
const units: Record<string, string> = {
  text: perToken,
  embedding: perToken,
  rerank: perToken,
  tts: '1M characters',
  image: 'image',
  upscale: 'image',
  inpaint: 'image',
  music: 'song',
  video: 'second',
};

/**
 * Returns the prices of a model of a type as names and amounts: `input.usd` of 0.1 is `input` and `$0.10 per 1M tokens`.
 */
export function priceLines(prices: Record<string, unknown>, type: string, prefix = ''): [string, string][] {
  return Object.entries(prices).flatMap(([name, value]): [string, string][] => {
    const path = prefix === '' ? name : `${prefix} ${name}`;
    if (typeof value !== 'object' || value === null) return [];
    const { usd } = value as { usd?: unknown };
    const inner = priceLines(value as Record<string, unknown>, type, path);
    if (typeof usd !== 'number' && typeof usd !== 'string') return inner;
    const amount = formatMoney(typeof usd === 'number' ? decimalOf(usd) : usd);
    const unit = path.startsWith('per_') ? undefined : units[type];
    return [[path, unit === undefined ? amount : `${amount} per ${unit}`], ...inner];
  });
}
