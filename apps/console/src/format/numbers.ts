const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
const rate = new Intl.NumberFormat('en-US', { minimumFractionDigits: 1, maximumFractionDigits: 1 });

export function formatCount(value: number | null | undefined): string {
  return value === null || value === undefined ? '–' : whole.format(value);
}

/** One decimal, such as tokens per second. */
export function formatRate(value: number | null | undefined): string {
  return value === null || value === undefined || !Number.isFinite(value) ? '–' : rate.format(value);
}

const byteUnits = ['B', 'kB', 'MB', 'GB', 'TB'];

/** Decimal units, as disks and Docker count. */
export function formatBytes(bytes: number | null | undefined): string {
  if (bytes === null || bytes === undefined) return '–';
  let value = bytes;
  let unit = 0;
  while (value >= 999.5 && unit < byteUnits.length - 1) {
    value /= 1000;
    unit += 1;
  }
  const digits = unit === 0 || value >= 99.95 ? 0 : 1;
  return `${value.toFixed(digits)} ${byteUnits[unit] ?? ''}`;
}
