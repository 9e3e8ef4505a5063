/** Memory budget of a device: an amount, or a share of its memory. */
export interface MemoryBudgetSetting {
  device: string;
  bytes?: number;
  /** 0.5 means 50%. */
  share?: number;
}

const units: Record<string, number> = { MiB: 2 ** 20, GiB: 2 ** 30 };

/** Parses `cpu=6GiB,cuda=50%`, whose syntax was checked before. */
export function parseMemoryBudget(text: string): MemoryBudgetSetting[] {
  return text
    .split(',')
    .map((part) => /^\s*([a-z]+)=([\d.]+)(MiB|GiB|%)\s*$/.exec(part))
    .filter((match) => match !== null)
    .map(([, device = '', amount, unit = '']) =>
      unit === '%'
        ? { device, share: Number(amount) / 100 }
        : { device, bytes: Math.round(Number(amount) * (units[unit] ?? 1)) },
    );
}
